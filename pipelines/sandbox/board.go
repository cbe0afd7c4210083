package sandbox

import (
	"bytes"
	"strings"
)

// board is what the policy sees of a prompt: the squares from the point of view
// of the side to move (X moves first, so the counts show whose turn it is). The
// zero board is empty; a prompt without a board gives it too. Of a sum a + b, the
// square a is own, and the square b is the other's, counted from 1.
type board [9]square

type square byte

const (
	free square = iota
	own
	other
)

var boardLines = [8][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// readView returns the last board drawn in the turns, three lines "A . X O",
// "B …", "C …", or the last sum in them, whichever is later.
func readView(turns []turn) *view {
	for i := len(turns) - 1; i >= 0; i-- {
		if b, ok := boardIn(turns[i].content); ok {
			return newView(b, false)
		}
		if b, ok := sumIn(turns[i].content); ok {
			return newView(b, true)
		}
	}
	return newView(board{}, false)
}

// sumIn reads the last sum "a + b" of two digits whose result is a digit, too.
func sumIn(text string) (b board, ok bool) {
	at := strings.LastIndex(text, " + ")
	if at < 1 || at+3 >= len(text) || at > 1 && isDigit(text[at-2]) || at+4 < len(text) && isDigit(text[at+4]) {
		return b, false
	}
	first, second := int(text[at-1])-'0', int(text[at+3])-'0'
	if min(first, second) < 1 || first+second > 9 {
		return b, false
	}
	b[second-1], b[first-1] = other, own
	return b, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func boardIn(text string) (board, bool) {
	var marks [9]byte
	for want, end := 2, len(text); end > 0; {
		begin := strings.LastIndexByte(text[:end], '\n') + 1
		switch line := text[begin:end]; {
		case boardRow(line, byte('A'+want), marks[3*want:]):
			if want--; want < 0 {
				return pointOfView(marks), true
			}
		case want < 2: // the rows must be adjacent: begin again with this line
			want = 2
			if boardRow(line, 'C', marks[6:]) {
				want = 1
			}
		}
		end = begin - 1
	}
	return board{}, false
}

func boardRow(line string, name byte, into []byte) bool {
	n := -1 // the next cell; the row's name comes first
	for i := range len(line) {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '|' || c == '\r':
		case n == -1 && c == name:
			n = 0
		case n >= 0 && n < 3 && (c == 'X' || c == 'O' || c == '.' || c == '_' || c == '-'):
			into[n] = c
			n++
		default:
			return false
		}
	}
	return n == 3
}

func pointOfView(marks [9]byte) board {
	me := byte('X')
	if bytes.Count(marks[:], []byte("X")) > bytes.Count(marks[:], []byte("O")) {
		me = 'O'
	}
	var b board
	for i, m := range marks {
		switch {
		case m == me:
			b[i] = own
		case m == 'X' || m == 'O':
			b[i] = other
		}
	}
	return b
}
