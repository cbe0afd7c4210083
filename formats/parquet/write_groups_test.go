package parquet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/random"
)

// WriteGroups gives the bytes that a Write for each group gives, whatever it
// takes at once.
func TestWriteGroups(t *testing.T) {
	var groups [][]formats.Trajectory
	for rows := range random.Trajectories(3, random.Options{Groups: 40, Scored: true}) {
		groups = append(groups, rows)
	}
	for i := range 9000 { // more than two row groups, with some large rows among the small
		row := formats.Trajectory{TrajectoryID: fmt.Sprint(i), ExampleID: fmt.Sprint(i / 2), Messages: []formats.Message{
			{Role: "user", Content: strings.Repeat("why ", i%70), Parent: -1, Call: -1},
			{Role: "assistant", Content: strings.Repeat("so ", 1+i%4096/4090*9000), Sampled: true},
		}}
		if i%3 == 0 {
			row.Reward = new(float64)
		}
		groups = append(groups, []formats.Trajectory{row, row}[:1+i%2])
	}
	want := fileOf(t, groups)
	for _, batch := range []int{1, 7, 256} {
		var out bytes.Buffer
		w := NewWriter[formats.Trajectory](&out)
		together := 0
		for from := 0; from < len(groups); from += batch {
			some := groups[from:min(from+batch, len(groups))]
			var rows []formats.Trajectory
			var ends []int
			for _, g := range some {
				rows = append(rows, g...)
				ends = append(ends, len(rows))
			}
			ok, err := w.WriteGroups(rows, ends)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				together += len(some)
				continue
			}
			for _, g := range some {
				if err := w.Write(g); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("batches of %d give another file", batch)
		}
		if together < len(groups)/2 {
			t.Errorf("of %d groups %d were written together", len(groups), together)
		}
	}
}

// Rows without heavy leaves are for Write.
func TestWriteGroupsOfLightRows(t *testing.T) {
	w := NewWriter[formats.Score](&bytes.Buffer{})
	rows := []formats.Score{{TrajectoryID: "a"}}
	if ok, err := w.WriteGroups(rows, []int{1}); ok || err != nil || w.Heavy() || w.Rows() != 0 {
		t.Errorf("light rows were added: %v, %v, %d rows", ok, err, w.Rows())
	}
}
