package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Example is one task: a side to play and an opponent.
type Example struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Side     string `json:"side"` // "X" or "O"
	Seed     int64  `json:"seed"` // seed of the opponent; below 2^53, so that every JSON reader keeps it exactly
}

// NewExample returns the i-th example of a set. Sides alternate.
func NewExample(set int64, i int) Example {
	side := X
	if i%2 == 1 {
		side = O
	}
	return Example{
		ID:       fmt.Sprintf("game-%d-%04d", set, i),
		Question: fmt.Sprintf("Play tic-tac-toe as %c and win.", side),
		Side:     string(side),
		Seed:     int64(pick(set, "example", strconv.Itoa(i)) >> 12),
	}
}

func writeExamples(w io.Writer, set int64, from, count int) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	for i := from; i < from+count; i++ {
		if err := lines.Encode(NewExample(set, i)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// task is an example in a request. The row's own columns are under "fields", or
// next to the id if the row was sent unchanged.
type task struct {
	Side   string   `json:"side"`
	Seed   *int64   `json:"seed"`
	Fields *columns `json:"fields"`
}

type columns struct {
	Side string `json:"side"`
	Seed *int64 `json:"seed"`
}

// row returns the row's own columns. A "seed" next to fields is the sampling seed.
func (t task) row() columns {
	if t.Fields != nil {
		return *t.Fields
	}
	return columns{t.Side, t.Seed}
}

func (t task) mark() (Mark, error) {
	side := t.row().Side
	if side != string(X) && side != string(O) {
		return 0, fmt.Errorf(`example: side %q: must be "X" or "O"`, side)
	}
	return Mark(side[0]), nil
}

func (t task) opponent() (int64, error) {
	seed := t.row().Seed
	if seed == nil {
		return 0, fmt.Errorf("example: no seed")
	}
	return *seed, nil
}
