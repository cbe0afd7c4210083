package parquet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// WriteGroups gives the bytes that a Write for each group gives, whatever it
// takes at once.
func TestWriteGroups(t *testing.T) {
	var groups [][]formats.Trajectory
	for rows := range randomtest.Trajectories(3, randomtest.Options{Groups: 40, Scored: true}) {
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

// Rows without a payload too, whose size Write does not measure, nulls and full
// pages among them.
func TestWriteGroupsOfLightRows(t *testing.T) {
	var rows []formats.Score
	var ends []int
	var want bytes.Buffer
	one := NewWriter[formats.Score](&want)
	for i := range 3000 {
		x := float64(i) / 7
		full := formats.Score{TrajectoryID: fmt.Sprint(i), ExampleID: fmt.Sprint(i / 3), Reward: &x,
			Rewards: []formats.NamedReward{{Name: "a", Value: &x, Weight: 1, Error: strings.Repeat("why ", i%300)},
				{Name: "b", Failure: "missing"}}}
		none := formats.Score{TrajectoryID: fmt.Sprint(i, "none"), Status: "failed"}
		group := []formats.Score{full, none, full}[:1+i%3]
		if err := one.Write(group); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, group...)
		ends = append(ends, len(rows))
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	w := NewWriter[formats.Score](&got)
	together := 0
	for from, batch := 0, 70; len(ends) > 0; {
		n := min(batch, len(ends))
		relative := make([]int, n)
		for i := range relative {
			relative[i] = ends[i] - from
		}
		ok, err := w.WriteGroups(rows[from:ends[n-1]], relative)
		if err == nil && !ok {
			n = 1
			err = w.Write(rows[from:ends[0]])
		}
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			together += n
		}
		from, ends = ends[n-1], ends[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Error("groups written together give another file")
	}
	if together < 2500 {
		t.Errorf("of 3000 groups %d were written together", together)
	}
}
