package main

import (
	"fmt"
	"strings"
)

// Mark is the content of a square.
type Mark byte

const (
	Empty Mark = '.'
	X     Mark = 'X'
	O     Mark = 'O'
)

// Other returns the opponent's mark.
func (m Mark) Other() Mark {
	if m == X {
		return O
	}
	return X
}

// Board holds the squares row by row: A1 A2 A3 B1 … C3.
type Board [9]Mark

// NewBoard returns the board before the first move. X moves first.
func NewBoard() Board {
	var b Board
	for i := range b {
		b[i] = Empty
	}
	return b
}

var lines = [8][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// Won reports whether m has a complete line.
func (b Board) Won(m Mark) bool {
	for _, l := range lines {
		if b[l[0]] == m && b[l[1]] == m && b[l[2]] == m {
			return true
		}
	}
	return false
}

// Moves returns the empty squares in order.
func (b Board) Moves() []int {
	var free []int
	for i, m := range b {
		if m == Empty {
			free = append(free, i)
		}
	}
	return free
}

// Over reports whether the game has ended: a line is complete or no square is free.
func (b Board) Over() bool {
	return b.Won(X) || b.Won(O) || len(b.Moves()) == 0
}

// With returns the board with m on the square.
func (b Board) With(square int, m Mark) Board {
	b[square] = m
	return b
}

// String draws the board as the model sees it.
func (b Board) String() string {
	var s strings.Builder
	s.WriteString("  1 2 3")
	for row := range 3 {
		fmt.Fprintf(&s, "\n%c %c %c %c", 'A'+row, b[3*row], b[3*row+1], b[3*row+2])
	}
	return s.String()
}

// ReadBoard returns the last board that is drawn in a text.
func ReadBoard(text string) (Board, bool) {
	rows := strings.Split(text, "\n")
	for i := len(rows) - 3; i >= 0; i-- {
		b, ok := NewBoard(), true
		for r := range 3 {
			ok = ok && readRow(rows[i+r], byte('A'+r), b[3*r:3*r+3])
		}
		if ok {
			return b, true
		}
	}
	return Board{}, false
}

func readRow(line string, name byte, into []Mark) bool {
	f := strings.Fields(line)
	if len(f) != 4 || f[0] != string(name) {
		return false
	}
	for i, cell := range f[1:] {
		m := Mark(cell[0])
		if len(cell) != 1 || m != X && m != O && m != Empty {
			return false
		}
		into[i] = m
	}
	return true
}

// ReadMove returns the square in the first <move>…</move> of an answer.
func ReadMove(answer string) (square int, ok bool) {
	_, rest, found := strings.Cut(answer, "<move>")
	name, _, closed := strings.Cut(rest, "</move>")
	name = strings.ToUpper(strings.TrimSpace(name))
	if !found || !closed || len(name) != 2 || name[0] < 'A' || name[0] > 'C' || name[1] < '1' || name[1] > '3' {
		return 0, false
	}
	return int(name[0]-'A')*3 + int(name[1]-'1'), true
}
