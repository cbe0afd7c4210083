package parquet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
)

// scores returns rows of a few row groups in groups of three, with nulls, empty
// lists and, in some groups of rows, enough text for several pages.
func scores() (groups [][]formats.Score) {
	for i := range 3500 {
		x := float64(i) / 7
		full := formats.Score{TrajectoryID: fmt.Sprint(i), ExampleID: fmt.Sprint(i / 2), Status: "ok", Reward: &x,
			ShapedRewards: []float64{x, 1},
			Failure:       "none",
			Rewards: []formats.NamedReward{{Name: "a", Value: &x, Weight: 1, Error: strings.Repeat("why ", i%300)},
				{Name: "b", Failure: "missing"}}}
		none := formats.Score{TrajectoryID: fmt.Sprint(i, "none"), Status: "failed", Error: "x"}
		if i > 2900 {
			none.Rewards = []formats.NamedReward{{Name: "a", Error: strings.Repeat("so ", i)}}
		}
		groups = append(groups, []formats.Score{full, none, none})
	}
	return groups
}

func member(s formats.Score) formats.Member {
	return formats.Member{TrajectoryID: s.TrajectoryID, ExampleID: s.ExampleID, GroupID: s.ExampleID + "@0", Epoch: s.Epoch,
		Generation: s.Generation,
		Status:     s.Status, Reward: s.Reward, Rewards: s.Rewards, ShapedRewards: s.ShapedRewards, Advantage: s.Reward}
}

// Rows with columns of a file give the bytes that they give when all their
// columns are encoded, and so does a copy of the result.
func TestCopyColumns(t *testing.T) {
	file := opened(t, fileOf(t, scores()))
	var groups [][]formats.Member
	for _, rows := range scores() {
		var g []formats.Member
		for _, s := range rows {
			g = append(g, member(s))
		}
		groups = append(groups, g)
	}
	var want bytes.Buffer
	w := NewWriter[formats.Member](&want)
	for _, g := range groups {
		if err := w.Write(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if pages := len(w.file.offsets[2*len(w.file.deferred)+13].PageLocations); pages < 2 {
		t.Errorf("the last row group has %d pages of errors; want several", pages)
	}
	for range 2 {
		out := columnsCopied(t, file, groups)
		if !bytes.Equal(out, want.Bytes()) {
			t.Error("another file than when all columns are encoded")
		}
		file = opened(t, out) // every column is copied now
	}
}

func columnsCopied(t *testing.T, file *layout.File, groups [][]formats.Member) []byte {
	t.Helper()
	common, err := NewCommon[formats.Member](file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := NewWriter[formats.Member](&out)
	for i, n := range rowGroups(file) {
		var rows []formats.Member
		var ends []int
		for int64(len(rows)) < n {
			rows = append(rows, groups[0]...)
			groups, ends = groups[1:], append(ends, len(rows))
		}
		if err := w.CopyColumns(common, i, rows, ends); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Columns that have another type, or another place in the schema, are not in
// common.
func TestCommon(t *testing.T) {
	type other struct {
		TrajectoryID string                `parquet:"trajectory_id,dict"` // of another encoding: known when it is copied
		ExampleID    string                `parquet:"example_id,optional"`
		GroupID      string                `parquet:"group_id"`
		Epoch        int64                 `parquet:"epoch,delta"`
		Generation   int32                 `parquet:"generation,delta"`
		Rewards      []formats.NamedReward `parquet:"rewards,optional,list"`
	}
	file := opened(t, fileOf(t, [][]other{{{TrajectoryID: "a", ExampleID: "a"}}}))
	common, err := NewCommon[formats.Member](file)
	if err != nil {
		t.Fatal(err)
	}
	l := layout.Of[formats.Member]()
	for i, at := range common.at {
		name := layout.ColumnName(l.Paths[i])
		if want := name == "trajectory_id" || name == "generation" || name == "group_id"; want != (at >= 0) {
			t.Errorf("%s is column %d of the file", name, at)
		}
		if at >= 0 && newChunk(l, i).sameLayout(&file.Meta.RowGroups[0].Columns[at]) != (name == "generation") {
			t.Errorf("%s can be copied, or cannot", name)
		}
	}
}

// A file that was damaged after it was opened is refused.
func TestDamagedColumnsAreNotCopied(t *testing.T) {
	data := fileOf(t, scores())
	file := opened(t, data)
	for c, chunk := range file.Meta.RowGroups[0].Columns {
		_, end := layout.Span(&chunk.MetaData)
		data[end-1] ^= 1
		common, err := NewCommon[formats.Score](file)
		if err != nil {
			t.Fatal(err)
		}
		n := rowGroups(file)[0]
		err = NewWriter[formats.Score](&bytes.Buffer{}).CopyColumns(common, 0, flat(scores())[:n], []int{int(n)})
		if err == nil || !strings.Contains(err.Error(), layout.ColumnName(file.Leaves[c].Path)) {
			t.Errorf("column %d: %v", c, err)
		}
		data[end-1] ^= 1
	}
}
