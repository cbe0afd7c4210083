package sandbox

import "strings"

// board is what the policy sees of a prompt: the squares from the point of view
// of the side to move (X moves first, so the counts show whose turn it is). The
// zero board is empty; a prompt without a board gives it too.
type board [9]square

type square byte

const (
	free square = iota
	own
	other
)

var boardLines = [8][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// readBoard returns the last board drawn in the turns: three lines "A . X O",
// "B …", "C …".
func readBoard(turns []turn) board {
	for i := len(turns) - 1; i >= 0; i-- {
		if b, ok := boardIn(turns[i].content); ok {
			return b
		}
	}
	return board{}
}

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
	var x, o int
	for _, m := range marks {
		switch m {
		case 'X':
			x++
		case 'O':
			o++
		}
	}
	me := byte('X')
	if x > o {
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
