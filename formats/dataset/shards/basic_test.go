package shards

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

var memories atomic.Int64

// memory returns the URI of a store in memory that nothing else uses, as often as the
// test runs in one process.
func memory(t testing.TB) string { return fmt.Sprintf("mem://%s-%d", t.Name(), memories.Add(1)) }

// places runs a test on every kind of store.
func places(t *testing.T, test func(t *testing.T, uri string)) {
	t.Run("mem", func(t *testing.T) { test(t, memory(t)+"/ds") })
	t.Run("local", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "ds")) })
	t.Run("s3", func(t *testing.T) { test(t, s3test.Start(t).URI("ds")) })
}

// sibling returns a sibling of a URI.
func sibling(uri, suffix string) string {
	at, parameters, found := strings.Cut(uri, "?")
	if !found {
		return at + suffix
	}
	return at + suffix + "?" + parameters
}

func wideRow(example, generation int) formats.Trajectory {
	id := fmt.Sprintf("ex-%d", example)
	reward := float64(generation%2) + 0.25
	return formats.Trajectory{
		TrajectoryID: formats.TrajectoryID("run", id, 0, generation), Run: "run", ExampleID: id, Generation: int32(generation),
		Example: fmt.Sprintf(`{"id":%q}`, id), Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Reward: &reward,
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Content: "what is " + id, Call: -1},
			{Parent: 0, Role: "assistant", Content: fmt.Sprint("answer ", generation), Sampled: true, TokenIDs: []int32{1, 2, int32(generation)},
				Logprobs: []float32{-0.5, -1, -2}},
		},
		Calls: []formats.Call{{Model: "m", Sampling: "{}", Tools: -1, Target: true}},
	}
}

func group(example, size int) []formats.Trajectory {
	rows := make([]formats.Trajectory, size)
	for g := range rows {
		rows[g] = wideRow(example, g)
	}
	return rows
}

func wideSpec() manifest.Spec {
	return manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories, Params: map[string]any{"generations": 4}}
}

// write writes one shard of examples dealt out in turn.
func write(ctx context.Context, t *testing.T, uri string, spec manifest.Spec, o Options, examples int) Result {
	t.Helper()
	s, err := Begin(ctx, uri, spec, o)
	if err != nil {
		t.Fatal(err)
	}
	if !s.UpToDate() {
		w := NewTable[formats.Trajectory](s, "", -1)
		for e := o.Shard; e < examples; e += max(o.Of, 1) {
			if err := w.Write(ctx, group(e, 4)); err != nil {
				t.Fatal(err)
			}
		}
	}
	res, err := s.Commit(ctx, Outcome{Counts: map[string]int64{"ok": int64(examples) * 4}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		res := write(ctx, t, uri, wideSpec(), Options{}, 10)
		if res.Sealed == nil || res.Rows != 40 || res.UpToDate {
			t.Fatalf("result %+v", res)
		}
		d, err := dataset.Open(ctx, uri, dataset.OpenOptions{Kind: schema.KindTrajectories})
		if err != nil {
			t.Fatal(err)
		}
		var want []formats.Trajectory
		for e := range 10 {
			want = append(want, group(e, 4)...)
		}
		for i := range want {
			want[i].SetPayloadDigest()
		}
		got, err := dataset.ReadAll[formats.Trajectory](ctx, d, "", d.All())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		got, err = dataset.ReadAll[formats.Trajectory](ctx, d, "", dataset.Range{First: 7, Rows: 9})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[7:16], got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		groups := 0
		err = dataset.Groups(ctx, d, "", d.All(), func(r *formats.Trajectory) string { return r.ExampleID }, func(first int64, rows []formats.Trajectory) error {
			if len(rows) != 4 || first != int64(groups*4) {
				t.Errorf("group of %d at %d", len(rows), first)
			}
			groups++
			return nil
		})
		if err != nil || groups != 10 {
			t.Fatal(groups, err)
		}
		if again := write(ctx, t, uri, wideSpec(), Options{}, 10); !again.UpToDate || again.Sealed == nil {
			t.Fatalf("second run: %+v", again)
		}
	})
}

func TestAFileIsNotReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Begin(t.Context(), file, manifest.Spec{Stage: "import", Kind: schema.KindTrajectories}, Options{Overwrite: true})
	if in := (*fault.Error)(nil); !errors.As(err, &in) || fault.HintOf(in) == "" || !strings.Contains(err.Error(), "it is a file") {
		t.Errorf("%v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != "mine" {
		t.Errorf("%q", data)
	}
}

// TestPieces: no part and no row group ends within a group that is written in pieces.
func TestPieces(t *testing.T) {
	uri := t.TempDir()
	s, err := Begin(t.Context(), uri, wideSpec(), Options{partSize: 1})
	check(t, err)
	w := NewTable[formats.Trajectory](s, "", -1)
	check(t, w.Write(t.Context(), group(0, 4)))
	large := group(1, 9)
	for i := range 3 {
		check(t, w.WritePiece(t.Context(), large[3*i:3*i+3], i == 2))
	}
	check(t, w.Write(t.Context(), group(2, 4)))
	_, err = s.Commit(t.Context(), Outcome{Counts: map[string]int64{"ok": 17}})
	check(t, err)
	var of [][]int64
	for _, p := range open(t, uri).Parts {
		of = append(of, p.RowGroups)
	}
	if fmt.Sprint(of) != "[[4] [9 4]]" {
		t.Errorf("row groups %v", of)
	}
}
