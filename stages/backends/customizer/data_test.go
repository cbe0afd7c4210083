package customizer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestTheDataStoreIsAskedBeforeABatchIsMade(t *testing.T) {
	tr, s := start(t, customizertest.Faults{})
	s.Datastore.Close()
	if _, err := tr.Preflight(t.Context(), backendtest.Batch(), func(backends.Problem) {}); fault.KindOf(err) != fault.Temporary {
		t.Error(err)
	}
}

func TestTheSplitIsByExample(t *testing.T) {
	groups := func(yield func([]formats.Trajectory, error) bool) {
		for e := range 60 {
			if !yield(backendtest.Group(e%30), nil) {
				return
			}
		}
	}
	split := func(seed int64) (train, held string) {
		tr, s := start(t, customizertest.Faults{}, func(c *customizer.Config) { c.SplitSeed, c.Validation = seed, 0.3 })
		if _, err := tr.Begin(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Submit(t.Context(), submission(), groups, func(backends.JobEvent) {}); err != nil {
			t.Fatal(err)
		}
		files := s.Jobs()[0].Files
		return files["training/training_file.jsonl"], files["validation/validation_file.jsonl"]
	}
	train, held := split(1)
	if n := strings.Count(train, "\n") + strings.Count(held, "\n"); n != 60 || strings.Count(held, "\n") < 6 {
		t.Errorf("%d lines, %d held out", n, strings.Count(held, "\n"))
	}
	for line := range strings.Lines(held) {
		if strings.Contains(train, line) {
			t.Errorf("on both sides: %s", line)
		}
	}
	if again, _ := split(1); again != train {
		t.Error("the same seed gives another split")
	}
	if other, _ := split(2); other == train {
		t.Error("another seed gives the same split")
	}
}

func TestADatasetIsNamedAfterItsContent(t *testing.T) {
	tr, s := start(t, customizertest.Faults{}, func(c *customizer.Config) { c.Dataset = "nat-dpo" })
	for range 2 {
		if _, err := submit(t, tr); err != nil {
			t.Fatal(err)
		}
	}
	repos := s.Hub.Repositories()
	if len(repos) != 1 || !strings.HasPrefix(repos[0], "acme/nat-dpo-") || len(s.Hub.Commits(repos[0])) != 1 || len(s.Jobs()) != 1 {
		t.Errorf("%q, %d jobs", repos, len(s.Jobs()))
	}
	// A file that somebody left there is not trained on.
	s.Hub.Put(repos[0], "training/old.jsonl", "{}\n")
	other := submission()
	other.Token = "another"
	if _, err := tr.Submit(t.Context(), other, backendtest.Batch(), func(backends.JobEvent) {}); err != nil {
		t.Fatal(err)
	}
	if files := s.Jobs()[1].Files; files["training/old.jsonl"] != "" || len(s.Jobs()) != 2 {
		t.Errorf("%q", files)
	}
}

// The Data Store is a hub: what it may do wrong, and still every job sees both
// files, by one commit.
func TestDataStoreFaults(t *testing.T) {
	for name, f := range map[string]hubtest.Faults{
		"an empty commit address":  {EmptyCommitURL: true},
		"regular files":            {Modes: map[string]string{".jsonl": "regular"}},
		"large files in parts":     {ChunkSize: 50},
		"a stale parent (412)":     {Intruders: 1},
		"500, but applied":         {AppliedThen500: 1},
		"applied, and dropped":     {DropAfterCommit: 1},
		"not applied, and dropped": {DropBeforeCommit: 1},
		"no head":                  {NoHead: true, NoOID: true, AppliedThen500: 1},
		"busy":                     {Busy: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, s := start(t, customizertest.Faults{Store: f})
			out, err := submit(t, tr)
			if err != nil || out.Job == "" {
				t.Fatalf("%+v, %v", out, err)
			}
			ours := slices.DeleteFunc(s.Hub.Commits(s.Hub.Repositories()[0]), func(title string) bool { return title == "by somebody else" })
			if len(ours) != 1 || len(s.Jobs()[0].Files) < 3 {
				t.Errorf("%q, %q", ours, s.Jobs()[0].Files)
			}
		})
	}
}

func TestTheDataStoreRefuses(t *testing.T) {
	for want, f := range map[string]hubtest.Faults{
		"400: no commits today": {CommitRefused: 400},
		"not acceptable":        {BatchError: "not acceptable"},
		"don't have the rights": {CreateForbidden: true},
	} {
		tr, s := start(t, customizertest.Faults{Store: f})
		if out, err := submit(t, tr); err == nil || !out.Clean || !strings.Contains(err.Error(), want) || len(s.Jobs()) != 0 {
			t.Errorf("%s: %+v, %v", want, out, err)
		}
	}
}

func TestADatasetOfAnotherMeaning(t *testing.T) {
	tr, s := start(t, customizertest.Faults{DatasetTaken: true})
	if _, err := submit(t, tr); err != nil || len(s.Jobs()[0].Files) < 3 {
		t.Error(err)
	}
	tr, s = start(t, customizertest.Faults{DatasetTaken: true, DatasetStuck: true})
	if out, err := submit(t, tr); err == nil || !out.Clean || !strings.Contains(err.Error(), `means "hf://datasets/others/data"`) || len(s.Jobs()) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
