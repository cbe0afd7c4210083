package main

import (
	"strings"
	"testing"
)

func board(t *testing.T, rows string) Board {
	t.Helper()
	b := NewBoard()
	rows = strings.ReplaceAll(rows, " ", "")
	if len(rows) != 9 {
		t.Fatalf("board %q", rows)
	}
	for i := range b {
		b[i] = Mark(rows[i])
	}
	return b
}

func TestReadBoard(t *testing.T) {
	want := board(t, "X.O .X. ..O")
	got, ok := ReadBoard("before\n" + want.String() + "\nYour move.")
	if !ok || got != want {
		t.Fatalf("got %v, %v", got, ok)
	}
	later := want.With(1, X)
	if got, _ := ReadBoard(want.String() + "\n" + later.String()); got != later {
		t.Errorf("of two boards the first was read: %v", got)
	}
	for _, none := range []string{"", "A X O .\nB . . .", "A X O .\nB . . . .\nC . . .", "A XX O .\nB . . .\nC . . ."} {
		if b, ok := ReadBoard(none); ok {
			t.Errorf("%q was read as %v", none, b)
		}
	}
}

func TestReadMove(t *testing.T) {
	for text, want := range map[string]string{
		"<move>B2</move>": "B2", "I take <move> c3 </move> now": "C3", "<move>A1</move><move>A2</move>": "A1",
		"<move>B2": "", "B2": "", "<move>D1</move>": "", "<move>A4</move>": "", "<move></move>": "", "<move>A1A2</move>": "",
	} {
		got := ""
		if square, ok := ReadMove(text); ok {
			got = SquareName(square)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestOpponentIsRandomAndDeterministic(t *testing.T) {
	b := board(t, "X.. .O. ...")
	seen := map[int]int{}
	for seed := range int64(700) {
		square := Reply(seed, b)
		if b[square] != Empty {
			t.Fatalf("seed %d takes %s, which is taken", seed, SquareName(square))
		}
		if again := Reply(seed, b); again != square {
			t.Fatalf("seed %d plays %d, then %d", seed, square, again)
		}
		seen[square]++
	}
	for square, n := range seen {
		if n < 60 || n > 140 {
			t.Errorf("%s is played %d times of 700, want about 100", SquareName(square), n)
		}
	}
	if len(seen) != 7 {
		t.Errorf("%d of 7 squares are ever played", len(seen))
	}
}

func TestValuesOfPositions(t *testing.T) {
	j := NewJudge()
	for _, c := range []struct {
		name, board string
		low, high   float64
	}{
		{"a line", "XXX OO. ...", 2, 2},
		{"two threats at once", "X.X .O. X.O", 1.75, 1.75},
		{"a draw on the board", "XOX XOO OXX", 0.5, 0.5},
		{"the opponent has two lines open", "XX. OO. ...", 0.3, 0.9},
		{"first move in the centre", "... .X. ...", 0.9, 1},
	} {
		if got := j.Value(board(t, c.board), X); got < c.low || got > c.high {
			t.Errorf("%s: %.3f, want %.2f to %.2f", c.name, got, c.low, c.high)
		}
	}
	centre, edge := j.Value(board(t, "... .X. ..."), X), j.Value(board(t, ".X. ... ..."), X)
	if centre <= edge {
		t.Errorf("the centre is worth %.4f, an edge %.4f", centre, edge)
	}
}

// SquareName returns the name of a square, "A1" to "C3".
func SquareName(square int) string {
	return string([]byte{byte('A' + square/3), byte('1' + square%3)})
}

// TestValuesAgreeWithAPlainSearch compares the values with those of a search
// without memory and without shortcuts.
func TestValuesAgreeWithAPlainSearch(t *testing.T) {
	var expect func(b Board, turn Mark) float64
	expect = func(b Board, turn Mark) float64 {
		if b.Won(X) {
			return 1
		}
		if b.Won(O) {
			return 0
		}
		best, sum, n := 0.0, 0.0, 0.0
		for square, m := range b {
			if m == Empty {
				v := expect(b.With(square, turn), turn.Other())
				best, sum, n = max(best, v), sum+v, n+1
			}
		}
		switch {
		case n == 0:
			return 0.5
		case turn == X:
			return best
		}
		return sum / n
	}
	j := NewJudge()
	for _, text := range []string{"X.. ... ...", ".X. .O. ..X", "XO. .X. ..O", "O.X X.. .O."} {
		b := board(t, text)
		want := expect(b, O)
		if got := j.Value(b, X); got <= 1 && got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		} else if got > 1 && want != 1 {
			t.Errorf("%s: a forced win is worth %v in the plain search", text, want)
		}
	}
}

func TestTotal(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{0.5}, 0.5},
		{[]float64{1, 0}, 1 / 1.8},
		{[]float64{0, 1}, 0.8 / 1.8},
		{[]float64{0.5, 2}, (0.5+0.8)/1.8 + 0.95},
		{[]float64{0.5, 1.75, 2}, (0.5+0.8+0.64)/2.44 + 0.95*0.95},
		{nil, 0},
	} {
		if got := Total(c.values); got < c.want-1e-12 || got > c.want+1e-12 {
			t.Errorf("%v: got %v, want %v", c.values, got, c.want)
		}
	}
}

func TestExampleSetsAreDisjoint(t *testing.T) {
	seen := map[int64]string{}
	sides := map[string]int{}
	for _, e := range append(set(1, 0, 300), set(2, 0, 300)...) {
		if before, ok := seen[e.Seed]; ok {
			t.Errorf("%s and %s have the same opponent", before, e.ID)
		}
		if e.Seed < 0 || e.Seed >= 1<<53 {
			t.Errorf("%s: seed %d does not survive a float", e.ID, e.Seed)
		}
		seen[e.Seed] = e.ID
		sides[e.Side]++
	}
	if sides["X"] != 300 || sides["O"] != 300 {
		t.Errorf("sides %v, want 300 each", sides)
	}
}
