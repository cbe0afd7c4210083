package parquet

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pq "github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet/layout"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// varied is rows with everything that rows have: failures, branches, rewards,
// tool calls, candidates, nulls and empty lists.
func varied(groups int) [][]formats.Trajectory {
	var out [][]formats.Trajectory
	for rows := range randomtest.Trajectories(7,
		randomtest.Options{Groups: groups, Generations: 4, SampledTokens: 60, PromptTokens: 40,
			Messages: 6, Failures: 0.3, Branches: 0.3, Unscored: 0.2, Scored: true}) {
		for i := range rows {
			if i%2 == 0 {
				score := float64(i) / 3
				rows[i].Candidates = []formats.Candidate{{Message: 1, Content: "other"},
					{Message: -1, Turn: "t", Score: &score}}
				rows[i].ShapedRewards = []float64{0.5, score}
				rows[i].ToolSets = []string{`[{"name":"a"}]`, ""}
			}
			if i%3 == 1 && len(rows[i].Messages) > 1 {
				rows[i].Messages[0].ToolCalls = []formats.ToolCall{{ID: "1", Name: "f", Arguments: "{}"},
					{ID: "2", Name: "g"}}
				rows[i].Messages[1].PromptDeltaIDs = []int32{9, 8, 7}
			}
		}
		out = append(out, rows)
	}
	return out
}

// fileOf writes groups of rows as one file in memory.
func fileOf[T any](t testing.TB, groups [][]T) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter[T](&buf)
	for _, rows := range groups {
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(buf.Len()) {
		t.Fatalf("Size is %d, the file has %d bytes", w.Size(), buf.Len())
	}
	return buf.Bytes()
}

func read[T any](t testing.TB, data []byte, first, rows int64) []T {
	t.Helper()
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "test.parquet")
	if err != nil {
		t.Fatal(err)
	}
	r, err := reader.NewReader[T](f, first, rows)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []T
	buf := make([]T, 7)
	for {
		n, err := r.Read(buf)
		out = append(out, buf[:n]...)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func flat[T any](groups [][]T) []T {
	var out []T
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

func same(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		if len(diff) > 4000 {
			diff = diff[:4000]
		}
		t.Fatal(diff)
	}
}

func TestRowsComeBack(t *testing.T) {
	groups := varied(40)
	data := fileOf(t, groups)
	want := flat(groups)
	same(t, want, read[formats.Trajectory](t, data, 0, int64(len(want))))
	for _, r := range [][2]int64{{0, 1}, {3, 20}, {81, 79}, {159, 1}, {50, 0}} {
		same(t, want[r[0]:r[0]+r[1]], read[formats.Trajectory](t, data, r[0], r[1]))
	}
}

func TestParquetGoReadsTheSame(t *testing.T) {
	groups := varied(40)
	data := fileOf(t, groups)
	rows, err := pq.Read[formats.Trajectory](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, flat(groups), rows)
}

func TestThinRowsComeBack(t *testing.T) {
	var scores [][]formats.Score
	for rows := range randomtest.Scores(3, randomtest.Options{Groups: 3000, Generations: 3, Failures: 0.2, Unscored: 0.3}) {
		scores = append(scores, rows)
	}
	data := fileOf(t, scores)
	want := flat(scores)
	same(t, want, read[formats.Score](t, data, 0, int64(len(want))))
	same(t, want[5000:7001], read[formats.Score](t, data, 5000, 2001))
	f, err := layout.Open(bytes.NewReader(data), int64(len(data)), "x")
	if err != nil {
		t.Fatal(err)
	}
	same(t, []int64{4095, 4095, 810}, rowGroups(f)) // groups of 3 in row groups of at most 4096
}

func TestAFewColumns(t *testing.T) {
	groups := varied(30)
	data := fileOf(t, groups)
	type message struct {
		Role     string  `parquet:"role,dict"`
		TokenIDs []int32 `parquet:"token_ids,optional,list"`
	}
	type row struct {
		Reward   *float64  `parquet:"reward,optional"`
		Messages []message `parquet:"messages,list"`
		ID       string    `parquet:"trajectory_id"`
		Newer    *string   `parquet:"not_yet_invented,optional"`
	}
	var want []row
	for _, r := range flat(groups) {
		w := row{Reward: r.Reward, ID: r.TrajectoryID}
		for _, m := range r.Messages {
			w.Messages = append(w.Messages, message{m.Role, m.TokenIDs})
		}
		want = append(want, w)
	}
	same(t, want, read[row](t, data, 0, int64(len(want))))
	same(t, want[17:60], read[row](t, data, 17, 43))
}

func TestTheSameRowsGiveTheSameBytes(t *testing.T) {
	groups := varied(20)
	if !bytes.Equal(fileOf(t, groups), fileOf(t, groups)) {
		t.Fatal("two files of the same rows differ")
	}
}

func TestAFileWithoutRows(t *testing.T) {
	data := fileOf[formats.Trajectory](t, nil)
	if rows := read[formats.Trajectory](t, data, 0, 0); len(rows) != 0 {
		t.Fatal(rows)
	}
	if _, err := pq.Read[formats.Trajectory](bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
}

// A group over splitPage spans several pages; a row over maxPage is refused.
func TestLargeRows(t *testing.T) {
	rows := make([]formats.Trajectory, 5)
	for i := range rows {
		rows[i].TrajectoryID = fmt.Sprint(i)
		rows[i].Messages = []formats.Message{{Content: string(bytes.Repeat([]byte{'a' + byte(i)}, 3<<20))}}
	}
	small := [][]formats.Trajectory{rows[:1], {{TrajectoryID: "small"}}, rows, {{TrajectoryID: "last"}}}
	data := fileOf(t, small)
	same(t, flat(small), read[formats.Trajectory](t, data, 0, 8))

	w := NewWriter[formats.Trajectory](io.Discard)
	rows[4].Messages[0].Content = string(make([]byte, layout.MaxPage+1))
	if err := w.Write(rows); err == nil {
		t.Fatal("a row of more than a page was written")
	} else {
		t.Log(err)
	}
}
