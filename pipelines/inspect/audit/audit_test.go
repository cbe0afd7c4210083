package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/heldout"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestEveryCheckFindsItsFault checks that each check finds its fault in a dataset
// that has it, and that no check finds anything in a twin without the fault.
func TestEveryCheckFindsItsFault(t *testing.T) {
	for i, c := range faults {
		t.Run(fmt.Sprintf("%s/%s", c.check, c.name), func(t *testing.T) {
			well := &world{t, fmt.Sprintf("mem://audit-well-%d/run", i)}
			c.make(well, false)
			if a := audited(t, well.root); len(a.Findings) > 0 && !(c.check == "leak" && onlyText(a)) {
				t.Errorf("the twin: %+v", a.Findings)
			}
			sick := &world{t, fmt.Sprintf("mem://audit-sick-%d/run", i)}
			c.make(sick, true)
			found := audited(t, sick.root, c.check).Findings
			if len(found) == 0 {
				t.Fatalf("%s finds nothing; all: %+v", c.check, audited(t, sick.root).Findings)
			}
			for _, f := range found {
				if f.Check != c.check || f.Severity != severity(c.check) || !strings.HasPrefix(f.URI, sick.root) ||
					!strings.Contains(f.What+" "+listed(f), c.what) {
					t.Errorf("%+v", f)
				}
			}
			if !slices.ContainsFunc(audited(t, sick.root).Findings, func(f validate.Finding) bool { return f.Check == c.check }) {
				t.Error("among all checks it finds nothing")
			}
		})
	}
}

// onlyText reports whether all findings are of leak_text: random rows of different
// examples have the same question.
func onlyText(a *Result) bool {
	return !slices.ContainsFunc(a.Findings, func(f validate.Finding) bool { return f.Check != checkLeakText && f.Severity != validate.Note })
}

func listed(f validate.Finding) string {
	var all []string
	for _, p := range f.First {
		all = append(all, p.String())
	}
	return strings.Join(all, "\n")
}

func audited(t *testing.T, uri string, only ...string) *Result {
	t.Helper()
	o := Options{URI: uri, Only: only, Mismatch: "own"}
	if _, err := dataset.Open(t.Context(), uri+secondRecord, dataset.OpenOptions{}); err == nil {
		o.Against = uri + secondRecord
	}
	if _, err := dataset.Open(t.Context(), uri+heldOutTexts, dataset.OpenOptions{}); err == nil {
		o.HeldOut = heldout.Options{URIs: []string{uri + heldOutTexts}, Flag: "--held-out", Ngrams: 13}
	}
	a, err := Run(context.Background(), o)
	if err != nil && strings.Contains(err.Error(), "no scores have signals") {
		o.Mismatch = ""
		a, err = Run(context.Background(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func severity(name string) validate.Severity {
	for _, c := range validate.In(validate.Audit) {
		if c.Name == name {
			return c.Severity
		}
	}
	return ""
}

func TestEveryCheckHasACase(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range validate.In(validate.Audit) {
		name := c.Name
		if seen[name] {
			t.Errorf("two checks are called %s", name)
		}
		seen[name] = true
		if !slices.ContainsFunc(faults, func(c faultCase) bool { return c.check == name }) {
			t.Errorf("no case has the fault of %s", name)
		}
	}
	for _, c := range faults {
		if !seen[c.check] {
			t.Errorf("no check is called %s", c.check)
		}
	}
}

func checksOf(a *Result) []string {
	var names []string
	for _, f := range a.Findings {
		names = append(names, f.Check)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestOnlyAndSkip(t *testing.T) {
	w := &world{t, "mem://audit-only/run"}
	rows := trajectories(small)
	rows[3].Reward, rows[5].Messages[2].Logprobs, rows[7].Messages[2].Branch = nil, nil, "retry"
	fail(&rows[9])
	rows[9].Reward = number(0.0)
	d := w.wide("rollout", "rollout", rows)
	for _, c := range []struct {
		only, skip, want []string
	}{
		{nil, nil, []string{"branches", "partial_logprobs", "rows"}},
		{[]string{"partial_logprobs", "flat"}, nil, []string{"partial_logprobs"}},
		{nil, []string{"rows"}, []string{"branches", "partial_logprobs"}},
		{[]string{"rows", "branches"}, []string{"rows"}, []string{"branches"}},
	} {
		a, err := Run(t.Context(), Options{URI: w.root, Only: c.only, Skip: c.skip})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, checksOf(a)); diff != "" {
			t.Errorf("only %v, skip %v: %s", c.only, c.skip, diff)
		}
	}
	for _, o := range []Options{{Only: []string{"none"}}, {Skip: []string{"none"}}} {
		o.URI = w.root
		_, err := Run(t.Context(), o)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), `no check "none"`) {
			t.Error(err)
		}
	}
	w.bytes(d, flip) // in the payload: only the checks that need it read it
	if a := audited(t, w.root, "flat", "failures"); len(a.Findings) > 0 {
		t.Errorf("%+v", a.Findings)
	}
	if a := audited(t, w.root, "partial_logprobs"); a.Worst() != validate.Damage {
		t.Errorf("a dataset that cannot be read is not reported: %+v", a.Findings)
	}
}

// TestChecksReadOnlyWhatTheyNeed checks that a check without payload reads a small
// share of the bytes, and all checks together read each byte a few times at most.
func TestChecksReadOnlyWhatTheyNeed(t *testing.T) {
	o := small
	o.Groups, o.SampledTokens, o.PromptTokens = 80, 1500, 700
	w := &world{t, "mem://audit-bytes/run"}
	d := w.wide("rollout", "rollout", trajectories(o))
	read := func(only ...string) int64 {
		var moved countingtest.Counter
		if _, err := Run(storage.Wrapping(t.Context(), moved.Wrap), Options{URI: w.root, Only: only}); err != nil {
			t.Fatal(err)
		}
		return moved.Read()
	}
	var light []string
	for _, c := range validate.In(validate.Audit) {
		if !c.Payload {
			light = append(light, c.Name)
		}
	}
	if n := read(light...); n > d.Bytes/3 {
		t.Errorf("%v read %d of %d bytes", light, n, d.Bytes)
	}
	if n := read(); n < 2*d.Bytes || n > 4*d.Bytes+d.Bytes/5 {
		t.Errorf("all checks read %d; there are %d bytes", n, d.Bytes)
	}
}

// TestDamageDoesNotHideOtherFindings checks that other datasets are still checked
// if one is damaged.
func TestDamageDoesNotHideOtherFindings(t *testing.T) {
	w := &world{t, "mem://audit-among/run"}
	base := w.wide("epoch-0/rollout", "rollout", trajectories(small))
	leak(true, w)
	var rows []formats.Score
	for group := range randomtest.Scores(5, small) {
		rows = append(rows, group...)
	}
	rows[1].Status = outcomes.StatusFailed
	put(w, "epoch-0/score", thinSpec(w, base, "epoch-0/score", schema.KindScores), rows)
	w.bytes(base, flip)
	a := audited(t, w.root)
	if diff := cmp.Diff([]string{"damage", "rows"}, checksOf(a)); diff != "" || a.Findings[0].Check != "damage" {
		t.Errorf("%s: %+v", diff, a.Findings)
	}
}

// TestLeakBelowAnyFolder checks that a leak is found wherever the run lies: of a path,
// only what follows the epoch says that a dataset is a validation.
func TestLeakBelowAnyFolder(t *testing.T) {
	for _, root := range []string{"validation", "validation/epoch-3", "epoch-3/validation", "validation/validation"} {
		w := &world{t, "mem://audit-below-any/" + root + "/run"}
		w.wide("epoch-0/curate", "curate", trajectories(small))
		leak(true, w)
		if diff := cmp.Diff([]string{"leak"}, checksOf(audited(t, w.root, "leak"))); diff != "" {
			t.Errorf("in %s: %s", w.root, diff)
		}
	}
}

// TestRepeatedIDsWithLittleMemory checks that repeated ids are found in any rows,
// however few fit into memory.
func TestRepeatedIDsWithLittleMemory(t *testing.T) {
	defer func(was int64) { repeatedRows = was }(repeatedRows)
	rows := trajectories(small)
	rows[20].TrajectoryID, rows[30].TrajectoryID, rows[39].TrajectoryID = rows[0].TrajectoryID, rows[0].TrajectoryID, rows[17].TrajectoryID
	w := &world{t, "mem://audit-shares/run"}
	w.wide("rollout", "rollout", rows)
	var want []validate.Finding
	for _, repeatedRows = range []int64{1 << 20, 40, 13, 1} {
		found := audited(t, w.root, "repeated").Findings
		if want == nil {
			want = found
		}
		if len(found) != 1 || found[0].Count != 3 || len(found[0].First) != 3 || found[0].First[1].Detail != "row 0 has the same id" {
			t.Errorf("%d rows in memory: %+v", repeatedRows, found)
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Error(diff)
		}
	}
}

// TestDetailsAreOneLine checks that a program's error text is shown on one line
// without control characters.
func TestDetailsAreOneLine(t *testing.T) {
	rows := trajectories(small)
	for i := range 8 {
		fail(&rows[i])
		rows[i].Error = "one\n\ttwo \x1b[2J three\r"
	}
	w := &world{t, "mem://audit-line/run"}
	w.wide("rollout", "rollout", rows)
	var text strings.Builder
	if err := audited(t, w.root, "failures").WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), ": one two [2J three\n") {
		t.Error(text.String())
	}
}

func TestIncompleteDatasetIsReported(t *testing.T) {
	s, err := shards.Begin(t.Context(), "mem://audit-half/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{Of: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Options{URI: "mem://audit-half/rollout"})
	if !errors.Is(err, seal.ErrIncomplete) || !errors.Is(err, fault.ErrInvalid) {
		t.Error(err)
	}
}

// TestDatasetWithoutManifestIsAudited checks that a dataset whose last writer was
// killed before it wrote the manifest is complete.
func TestDatasetWithoutManifestIsAudited(t *testing.T) {
	w := &world{t, "mem://audit-manifest/run"}
	d := w.wide("epoch-0/rollout", "rollout", trajectories(small))
	b, err := storage.Open(t.Context(), d.URI())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), manifest.FileName); err != nil {
		t.Fatal(err)
	}
	if a := audited(t, w.root); len(a.Datasets) != 1 || a.Datasets[0].Rows != 40 {
		t.Errorf("%+v", a)
	}
}
