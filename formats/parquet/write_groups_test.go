package parquet

import (
	"bytes"
	"fmt"
	"reflect"
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

// TestListsOfEveryLength: the rows of a group give the bytes that they give one by one, however long their lists are.
func TestListsOfEveryLength(t *testing.T) {
	var rows []formats.Score
	for i := range 300 {
		row := formats.Score{TrajectoryID: fmt.Sprint(i), ExampleID: "e"}
		for k := range []int{1, 1, 0, 1, 2, 1, 1, 3, 1}[i%9] {
			n := formats.NamedReward{Name: fmt.Sprint("r", k), Weight: 1, Failure: strings.Repeat("f", (i+k)%3), Error: strings.Repeat("e", i%2)}
			if (i+k)%4 > 0 {
				n.Value = new(float64(i))
			}
			row.Rewards = append(row.Rewards, n)
		}
		if i >= 40 {
			row.ShapedRewards = [][]float64{nil, {}, {1}, {1, 2}}[i%4]
			row.Signals = [][]formats.Signal{nil, {}, {{Component: "r0", Value: 1, Values: []float32{1, 2}}}, {{}, {Message: 2}}}[i/2%4]
		}
		rows = append(rows, row)
	}
	var single [][]formats.Score
	for i := range rows {
		single = append(single, rows[i:i+1])
	}
	data := fileOf(t, [][]formats.Score{rows})
	if !bytes.Equal(data, fileOf(t, single)) {
		t.Error("rows that are written together give other bytes")
	}
	for i, got := range read[formats.Score](t, data, 0, int64(len(rows))) {
		if !reflect.DeepEqual(got, rows[i]) {
			t.Errorf("row %d is %+v, want %+v", i, got, rows[i])
		}
	}
}
