package tidy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// stores runs a test in every kind of store.

func stores(t *testing.T, test func(t *testing.T, root string)) {
	t.Run("memory", func(t *testing.T) { test(t, "mem://prune-"+t.Name()) })
	t.Run("disk", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("s3", func(t *testing.T) { test(t, s3test.Start(t).URI("runs/demo")) })
}

// write writes a dataset, thin over a base unless that is "".

func write(t *testing.T, root, key, base string) {
	t.Helper()
	uri := storage.Join(root, key)
	_, stage := storage.Split(uri)
	stage, _, _ = strings.Cut(stage, "?")
	spec := manifest.Spec{Stage: stage, Kind: schema.KindTrajectories, Params: map[string]any{"key": key}}
	if base != "" {
		d, err := dataset.Open(t.Context(), storage.Join(root, base), dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ref := d.Ref("base", uri)
		spec.Kind, spec.Inputs, spec.Base = schema.KindScores, []manifest.Ref{ref}, &ref
	}
	s, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := formats.TrajectoryID("run", key, 0, 0)
	if base == "" {
		err = shards.NewTable[formats.Trajectory](s, "", -1).
			Write(t.Context(), []formats.Trajectory{{TrajectoryID: id, ExampleID: "a", Status: outcomes.StatusOK, StopReason: outcomes.StopDone}})
	} else {
		err = shards.NewTable[formats.Score](s, "", 0).Write(t.Context(), []formats.Score{{TrajectoryID: id, ExampleID: "a", Status: outcomes.StatusOK}})
	}
	if _, failed := s.Commit(t.Context(), shards.Outcome{}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func receipt(t *testing.T, root, dir, state string, epoch int) {
	t.Helper()
	data, err := json.Marshal(receipts.Receipt{Format: receipts.Format, State: state, Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, dir+"/"+receipts.File, string(data))
}

func put(t *testing.T, root, key, text string) {
	t.Helper()
	b, err := storage.Open(t.Context(), root)
	if err == nil {
		err = b.Write(t.Context(), key, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// epoch writes the five datasets of an epoch.

func epoch(t *testing.T, root, dir string, e int) {
	t.Helper()
	write(t, root, dir+"/rollout", "")
	write(t, root, dir+"/score", dir+"/rollout")
	write(t, root, dir+"/group", dir+"/rollout")
	write(t, root, dir+"/curate", "")
	receipt(t, root, dir+"/submit", receipts.JobCompleted, e)
}

// line writes a run of four epochs; the first has an extension, and the first and

// the last have a validation.

func line(t *testing.T, root string) {
	t.Helper()
	put(t, root, ".rollmill/run.json", "{}")
	receipt(t, root, "policy", receipts.JobPrepared, 0)
	for e := range 4 {
		epoch(t, root, fmt.Sprint("epoch-", e), e)
	}
	epoch(t, root, "epoch-0/extended", 0)
	for _, dir := range []string{"epoch-0/validation", "epoch-3/validation"} {
		write(t, root, dir+"/rollout", "")
		write(t, root, dir+"/score", dir+"/rollout")
	}
}

// later makes all that the tests write old.

const later = time.Hour

// keysUnder lists a run, without the object by which a store's creates are tested

// once a process.

func keysUnder(t *testing.T, root string) []string {
	t.Helper()
	b, err := storage.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for o, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(o.Key, "/.rollmill/create-only") {
			out = append(out, o.Key)
		}
	}
	return out
}

// short returns the places of a plan within its root.

func short(root string, uri string) string {
	base, _, _ := strings.Cut(storage.Redact(root), "?")
	uri, _, _ = strings.Cut(uri, "?")
	return strings.TrimPrefix(strings.TrimPrefix(uri, base), "/")
}

func TestRules(t *testing.T) {
	const rollouts = "epoch-0/extended/rollout epoch-0/rollout epoch-0/validation/rollout"
	for name, test := range map[string]struct {
		o       PruneOptions
		prepare func(t *testing.T, root string)
		removed string
		kept    map[string]string // with the reason; Force removes those that begin with !
	}{
		"no rule":           {o: PruneOptions{}},
		"the last epochs":   {o: PruneOptions{KeepEpochs: 3}, removed: rollouts},
		"all epochs":        {o: PruneOptions{KeepEpochs: 9}},
		"the newest always": {o: PruneOptions{KeepEvery: 7}, removed: "epoch-1/rollout epoch-2/rollout"},
		"every second":      {o: PruneOptions{KeepEvery: 2}, removed: "epoch-1/rollout"},
		"the best":          {o: PruneOptions{KeepBest: 1}, removed: rollouts + " epoch-2/rollout"},
		"any rule keeps":    {o: PruneOptions{KeepBest: 1, KeepEpochs: 2}, removed: rollouts},
		"a validation after the last training is no epoch to count": {o: PruneOptions{KeepEpochs: 3}, removed: rollouts,
			prepare: func(t *testing.T, root string) {
				write(t, root, "epoch-4/validation/rollout", "")
				write(t, root, "epoch-4/validation/score", "epoch-4/validation/rollout")
			}},
		"other stages by name, the last in the line first": {o: PruneOptions{KeepEpochs: 3, Drop: []string{"curate", "score"}},
			removed: "epoch-0/curate epoch-0/extended/curate epoch-0/extended/score epoch-0/score epoch-0/validation/score"},
		"a submission is not finished": {o: PruneOptions{KeepEpochs: 2}, removed: rollouts,
			kept:    map[string]string{"epoch-1/rollout": "its submission is running"},
			prepare: func(t *testing.T, root string) { receipt(t, root, "epoch-1/submit", receipts.JobRunning, 1) }},
		"another receipt waits on the epoch": {o: PruneOptions{KeepEpochs: 2}, removed: rollouts,
			kept:    map[string]string{"epoch-1/rollout": "its submission is pending"},
			prepare: func(t *testing.T, root string) { receipt(t, root, "again/submit", receipts.JobPending, 1) }},
		"a receipt cannot be read": {o: PruneOptions{KeepEpochs: 2}, removed: rollouts,
			kept:    map[string]string{"epoch-1/rollout": "its receipt cannot be read"},
			prepare: func(t *testing.T, root string) { put(t, root, "epoch-1/submit/_receipt.json", "{") }},
		"nothing was made of it": {o: PruneOptions{KeepEpochs: 3}, removed: rollouts,
			kept:    map[string]string{"epoch-0/extended/extended/rollout": "!curate has not read it yet"},
			prepare: func(t *testing.T, root string) { write(t, root, "epoch-0/extended/extended/rollout", "") }},
		"a validation is not scored": {o: PruneOptions{KeepEpochs: 2}, removed: rollouts + " epoch-1/rollout",
			kept:    map[string]string{"epoch-1/validation/rollout": "!score has not read it yet"},
			prepare: func(t *testing.T, root string) { write(t, root, "epoch-1/validation/rollout", "") }},
		"a later epoch continues it": {o: PruneOptions{KeepEpochs: 1, Drop: []string{"curate"}},
			removed: "epoch-0/curate epoch-0/extended/curate epoch-1/curate epoch-2/curate epoch-3/curate",
			kept:    map[string]string{"epoch-4/curate": "!the next epoch continues its curriculum"},
			prepare: func(t *testing.T, root string) {
				epoch(t, root, "epoch-4", 4)
				write(t, root, "epoch-5/rollout", "")
			}},
		"the base of a dataset elsewhere": {o: PruneOptions{KeepEpochs: 2}, removed: rollouts,
			kept:    map[string]string{"epoch-1/rollout": "!it is the base of mine/score-2"},
			prepare: func(t *testing.T, root string) { write(t, root, "mine/score-2", "epoch-1/rollout") }},
		"a command began to replace it": {o: PruneOptions{KeepEpochs: 2}, removed: rollouts, kept: map[string]string{"epoch-1/rollout": "!a command began to "},
			prepare: func(t *testing.T, root string) {
				put(t, root, "epoch-1/rollout/.rollmill/0123456789abcdef-1/journal-0/00000000-0123456789abcdef.parquet", "paid for")
			}},
		"a command is writing": {o: PruneOptions{KeepEpochs: 2, Grace: 2 * time.Hour, Force: true}, removed: rollouts,
			kept: map[string]string{"epoch-1/rollout": "a command is writing there"},
			prepare: func(t *testing.T, root string) {
				put(t, root, "epoch-1/rollout/.rollmill/0123456789abcdef-1/lease-0.json", "{}")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			line(t, root)
			if test.prepare != nil {
				test.prepare(t, root)
			}
			o := test.o
			o.Root, o.later = root, later
			o.Rewards = func(context.Context) (map[int]float64, error) {
				return map[int]float64{0: 0.1, 1: 0.9, 2: 0.5, 3: 0.2}, nil
			}
			if o.Drop == nil {
				o.Drop = []string{"rollout"}
			}
			before := keysUnder(t, root)
			p, err := Look(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, keysUnder(t, root)); diff != "" {
				t.Errorf("a dry run changed:\n%s", diff)
			}
			var removed []string
			for _, i := range p.Removed {
				removed = append(removed, short(root, i.URI))
			}
			slices.Sort(removed)
			if got := strings.Join(removed, " "); got != test.removed {
				t.Errorf("removed %q, want %q", got, test.removed)
			}
			for _, k := range p.Kept {
				why, forced := strings.CutPrefix(test.kept[short(root, k.URI)], "!")
				if why == "" || !strings.Contains(strings.ReplaceAll(k.Why, root+"/", ""), why) || k.Forced != forced {
					t.Errorf("kept %+v, want %q", k, test.kept)
				}
			}
			if len(p.Kept) < len(test.kept) {
				t.Errorf("kept %+v, want %q", p.Kept, test.kept)
			}
			o.Force = true
			forced, err := Look(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for place, why := range test.kept {
				has := slices.ContainsFunc(forced.Removed, func(i Item) bool { return short(root, i.URI) == place && i.What == whatDataset })
				if has != strings.HasPrefix(why, "!") {
					t.Errorf("with --force, %s is removed: %v", place, has)
				}
			}
		})
	}
}

// A pruned run has the manifests, thin datasets, receipts and the ledger; again,

// nothing is removed.

// Each operation of prune may be its last one. Another prune ends in the state of

// an undisturbed one. On a disk and in a store it is every fifth operation, unless

// COUNT is set.

// A dataset that is replaced between the plan and its application is kept.

// Only what is older than the grace goes, also temporary files, which only a disk

// has.

// Only the store's clock counts: what a running command or a killed one has just

// written stays, and what is old by that clock goes, however wrong this machine's is.

// Who may only read sees the plan, and applies nothing.

func TestPlanWithoutTheRightToWrite(t *testing.T) {
	stores(t, func(t *testing.T, root string) {
		epoch(t, root, "epoch-0", 0)
		epoch(t, root, "epoch-1", 1)
		before := keysUnder(t, root)
		ctx := storage.Wrapping(t.Context(), func(b *storage.Bucket) *storage.Bucket {
			return b.WithHook(func(op, _ string) error {
				if op == "draft" {
					return storage.ErrDenied
				}
				return nil
			})
		})
		p, err := Look(ctx, PruneOptions{Root: root, KeepEpochs: 1, Drop: []string{"rollout"}, later: later})
		if err != nil || len(p.Removed) != 1 || len(p.Notes) < 2 {
			t.Fatalf("%+v, %v", p, err)
		}
		if err := p.Apply(ctx); !errors.Is(err, storage.ErrDenied) || !slices.Equal(keysUnder(t, root), before) {
			t.Errorf("%v, and %q is there", err, keysUnder(t, root))
		}
	})
}

// A run without leftovers is listed once, the store's time is one object, and each

// manifest is read once.

func TestLookIsCheap(t *testing.T) {
	root := t.TempDir()
	line(t, root)
	var n countingtest.Counter
	if _, err := Look(storage.Wrapping(t.Context(), n.Wrap), PruneOptions{Root: root, KeepEpochs: 1, Drop: []string{"rollout"}, later: later}); err != nil {
		t.Fatal(err)
	}
	const datasets, receipts = 5*4 + 4, 6
	if lists, reads := n.Ops("list"), n.Ops("read"); lists != 3 || reads != datasets+receipts {
		t.Errorf("%d listings, %d reads of %d datasets and %d receipts", lists, reads, datasets, receipts)
	}
}

func TestTextSaysWhatIsLost(t *testing.T) {
	p := &Plan{Files: 3, Bytes: 1_234_567_890,
		Removed: []Item{{URI: "r/epoch-0/score", What: whatDataset, Why: "--keep-epochs 1", Files: 3, Bytes: 1_234_567_890, stage: "score"}},
		Kept:    []Kept{{URI: "r/epoch-1/rollout", Why: "it is the base of x", Forced: true}}}
	p.note(PruneOptions{Force: true}, &root{unrated: []string{"2", "7"}})
	var b bytes.Buffer
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"would remove  1.2 GB  3 files  r/epoch-0/score", "it is the base of x (--force removes it)",
		"score: the rewards of these epochs leave the report", "--force: datasets that others refer to", "epoch 2, 7 has none",
		"would remove 1.2 GB in 3 files", "--apply removes them"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
