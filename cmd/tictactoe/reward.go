package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// request is a game to score; reward is the answer to it.
type request struct {
	ID       string    `json:"id"`
	Example  task      `json:"example"`
	Messages []message `json:"messages"`
}

type reward struct {
	ID     string    `json:"id"`
	Reward *float64  `json:"reward"` // null: cannot be computed
	Shaped []float64 `json:"shaped_rewards,omitempty"`
	Error  string    `json:"error,omitempty"`
}

// answer scores one game per line until in ends.
func answer(in io.Reader, out io.Writer, value func(request) reward) error {
	lines := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	buffered := bufio.NewWriter(out)
	replies := json.NewEncoder(buffered)
	for n := 1; ; n++ {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("request %d: %w", n, err)
		}
		if err := replies.Encode(valued(raw, value)); err != nil {
			return err
		}
		if err := buffered.Flush(); err != nil {
			return err
		}
	}
}

func valued(raw []byte, value func(request) reward) reward {
	var r request
	if err := json.Unmarshal(raw, &r); err != nil {
		return refused(r, fmt.Errorf("not a request: %w", err))
	}
	return value(r)
}

func refused(r request, err error) reward { return reward{ID: r.ID, Error: err.Error()} }

// Reward scores the model's moves in a game, and the game by their values.
func (j *Judge) Reward(r request) reward {
	me, boards, err := replay(r)
	if err != nil {
		return refused(r, err)
	}
	values := make([]float64, len(boards))
	for i, b := range boards {
		if b != nil {
			values[i] = j.Value(*b, me)
		}
	}
	total := Total(values)
	return reward{ID: r.ID, Reward: &total, Shaped: values}
}

// Won is 1 for a game that the model won, else 0.
func Won(r request) reward {
	me, boards, err := replay(r)
	if err != nil {
		return refused(r, err)
	}
	won := 0.0
	if last := boards[len(boards)-1]; last != nil && last.Won(me) {
		won = 1
	}
	return reward{ID: r.ID, Reward: &won}
}

// replay returns the board after each of the model's moves, nil for an illegal
// move. Each question shows the board, so nothing else is needed.
func replay(r request) (me Mark, boards []*Board, err error) {
	if me, err = r.Example.mark(); err != nil {
		return 0, nil, err
	}
	var shown Board
	var asked bool
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			shown, asked = ReadBoard(m.Content)
		case "assistant":
			if asked {
				boards = append(boards, moved(shown, me, m.Content))
			}
			asked = false
		}
	}
	if len(boards) == 0 {
		return 0, nil, fmt.Errorf("no move in %d messages", len(r.Messages))
	}
	return me, boards, nil
}

func moved(b Board, me Mark, answer string) *Board {
	square, ok := ReadMove(answer)
	if !ok || b[square] != Empty {
		return nil
	}
	after := b.With(square, me)
	return &after
}
