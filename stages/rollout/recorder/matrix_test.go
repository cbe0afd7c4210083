package recorder_test

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"strings"
	"testing"
)

// matrixRow is a line of testdata/matrix/harnesses.jsonl: a harness and an API
// that it speaks. Whole and Stream name the tests. The guide "tested" shows the
// list.
type matrixRow struct {
	Name, Lock, Protocol string
	Whole, Stream        string
	Breaks               string // the causes of branches and breaks that the agent makes
}

// cell is a cell of the matrix that belongs to a test: its subtest's name, and
// whether the harness streams.
type cell struct {
	row       matrixRow
	name, way string
}

// cells yields the cells that name a subtest of t. To test a harness by another
// API, add a line to the list.
func cells(t *testing.T) iter.Seq[cell] {
	t.Helper()
	text, err := os.ReadFile(root("testdata/matrix/harnesses.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []cell
	for line := range bytes.Lines(text) {
		var row matrixRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for _, c := range []cell{{row, row.Whole, "whole"}, {row, row.Stream, "stream"}} {
			if name, ok := strings.CutPrefix(c.name, t.Name()+"/"); ok {
				out = append(out, cell{row, name, c.way})
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("testdata/matrix/harnesses.jsonl has no cell of this test")
	}
	return func(yield func(cell) bool) {
		for _, c := range out {
			if !yield(c) {
				return
			}
		}
	}
}
