package convert

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func written[T any](t *testing.T, uri string, spec manifest.Spec, groups [][]T, first int64) *dataset.Dataset {
	t.Helper()
	shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[T](shard, "", first)
	for _, g := range groups {
		if err := table.Write(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// small trajectories, some of which failed and some of which branch.
var small = randomtest.Options{Groups: 12, Generations: 4, Messages: 5, SampledTokens: 30, PromptTokens: 30, Failures: 0.2, Branches: 0.2}

func rollout(t *testing.T, root string, o randomtest.Options) (*dataset.Dataset, [][]formats.Trajectory) {
	t.Helper()
	groups := slices.Collect(randomtest.Trajectories(9, o))
	return written(t, storage.Join(root, "rollout"), manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, groups, -1), groups
}

// grouped writes members of a rollout, and returns what export should join.
func grouped(t *testing.T, root string) (*dataset.Dataset, []formats.Trajectory) {
	t.Helper()
	base, wide := rollout(t, root, small)
	members := slices.Collect(randomtest.Members(9, small))
	uri := storage.Join(root, "group")
	ref := base.Ref("base", uri)
	d := written(t, uri, manifest.Spec{Stage: "group", Version: 1, Kind: schema.KindGroups, Inputs: []manifest.Ref{ref}, Base: &ref}, members, 0)
	var want []formats.Trajectory
	for g := range wide {
		for i := range wide[g] {
			row, m := wide[g][i], members[g][i]
			row.Reward, row.Rewards, row.ShapedRewards, row.GroupID, row.Advantage = m.Reward, m.Rewards, m.ShapedRewards, m.GroupID, m.Advantage
			want = append(want, row)
		}
	}
	return d, want
}

func files(t *testing.T, names ...string) (out []exporters.File) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(exporters.Exports(foreign.Exporters), func(f exporters.File) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("no format %s", name)
		}
		out = append(out, exporters.Exports(foreign.Exporters)[i])
	}
	return out
}

func decoded(t *testing.T, data []byte) (out []formats.Trajectory) {
	t.Helper()
	for line := range bytes.Lines(data) {
		items, err := rows.Importer.Parse(&importers.Record{Data: line})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, items[0].Row)
	}
	return out
}

// A thin dataset is joined with its base, without loss, from a disk and a store.
func TestThinRowsAreJoined(t *testing.T) {
	for _, root := range []string{t.TempDir(), "mem://convert-thin"} {
		d, want := grouped(t, root)
		var out bytes.Buffer
		r, err := Export(t.Context(), ExportOptions{In: d.URI(), To: files(t, "rows"), Out: "-", Stdout: &out})
		if err != nil || r.Rows != int64(len(want)) || r.Files[0].Rows != r.Rows {
			t.Fatalf("%+v, %v", r, err)
		}
		if diff := cmp.Diff(want, decoded(t, out.Bytes()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: -want +got:\n%.2000s", root, diff)
		}
	}
}

// Scored rows have no advantage: that of the base was made of other rewards.
func TestScoresHaveNoAdvantages(t *testing.T) {
	root := t.TempDir()
	base, wide := rollout(t, root, small)
	one, n := 1.0, 0
	for g := range wide {
		for i := range wide[g] {
			wide[g][i].Advantage = &one
			n++
		}
	}
	ref := base.Ref("base", base.URI())
	base = written(t, filepath.Join(root, "curate"),
		manifest.Spec{Stage: "curate", Version: 1, Kind: schema.KindTrajectories, Inputs: []manifest.Ref{ref}}, wide, 0)
	ref = base.Ref("base", base.URI())
	d := written(t, filepath.Join(root, "score"), manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref},
		slices.Collect(randomtest.Scores(9, small)), 0)
	var out bytes.Buffer
	if _, err := Export(t.Context(), ExportOptions{In: d.URI(), To: files(t, "rows"), Out: "-", Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	got := decoded(t, out.Bytes())
	if len(got) != n || slices.ContainsFunc(got, func(r formats.Trajectory) bool { return r.Advantage != nil }) {
		t.Errorf("%d of %d rows; one has an advantage", len(got), n)
	}
}

// A thin dataset whose rows are about other trajectories is refused.
func TestRowsThatDoNotMatchAreRefused(t *testing.T) {
	root := t.TempDir()
	base, _ := rollout(t, root, small)
	scores := slices.Collect(randomtest.Scores(9, small))
	scores[2][1], scores[2][2] = scores[2][2], scores[2][1]
	uri := filepath.Join(root, "score")
	ref := base.Ref("base", uri)
	d := written(t, uri, manifest.Spec{Stage: "score", Version: 1, Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref}, scores, 0)
	_, err := Export(t.Context(), ExportOptions{In: d.URI(), To: files(t, "rows"), Out: filepath.Join(root, "out.jsonl")})
	if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "row 9: it is about trajectory ") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "out.jsonl")); err == nil {
		t.Error("there is a file")
	}
}

// What a format cannot hold is refused by name, or counted.
// TestSequencesOfFewColumns: a file of sequences is the same whether only their
// columns are read or whole rows, as another format needs them.
func TestSequencesOfFewColumns(t *testing.T) {
	root := "mem://few-columns"
	d, _ := rollout(t, root, small)
	var sums []string
	for _, names := range [][]string{{"sequences"}, {"sequences", "rows"}} {
		for _, per := range []sequences.Per{"", sequences.Trajectory} {
			if len(names) > 1 && per != "" {
				continue // rows have no weights
			}
			r, err := Export(t.Context(), ExportOptions{In: d.URI(), To: files(t, names...), Out: filepath.Join(t.TempDir(), "out"), Per: per, Lossy: true})
			if err != nil {
				t.Fatal(err)
			}
			if tally := r.Files[0].Entry.Sequences; r.Files[0].Rows == 0 || tally.Tokens == 0 || tally.In != tally.Tokens+tally.Lost {
				t.Errorf("%v: %d rows, %+v", names, r.Files[0].Rows, tally)
			}
			if per == "" {
				sums = append(sums, fmt.Sprint(r.Files[0].SHA256, *r.Files[0].Entry.Sequences))
			}
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("with few columns %s, with all %s", sums[0], sums[1])
	}
}

func TestLosses(t *testing.T) {
	root := t.TempDir()
	d, want := grouped(t, root)
	branched, silent := int64(0), int64(0)
	for i := range want {
		switch {
		case len(want[i].Messages) == 0:
			silent++
		case len(want[i].Main()) < len(want[i].Messages):
			branched++
		}
	}
	o := ExportOptions{In: d.URI(), To: files(t, "chat", "atif"), Out: filepath.Join(root, "out")}
	if _, err := Export(t.Context(), o); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), ": chat cannot hold branches") {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "out", "chat.jsonl")); err == nil {
		t.Error("there is a file")
	}
	o.Lossy, o.Overwrite = true, true
	r, err := Export(t.Context(), o)
	if err != nil || r.Files[0].Dropped["branches"] != branched || branched == 0 || r.Files[0].Skipped["no_messages"] != silent || silent == 0 ||
		r.Files[1].Dropped != nil {
		t.Errorf("%d branched, %d without messages: %+v, %v", branched, silent, r.Files, err)
	}
	documents, _ := filepath.Glob(filepath.Join(root, "out", "atif", "*.json"))
	if len(documents) != len(want)-int(silent) || r.Files[0].Rows != int64(len(documents)) {
		t.Errorf("%d documents of %d rows", len(documents), len(want))
	}
}

// Nothing is replaced without Overwrite, and the bytes are the same each time.
func TestFilesAreNotReplaced(t *testing.T) {
	for _, root := range []string{t.TempDir(), "mem://convert-files"} {
		d, _ := grouped(t, root)
		o := ExportOptions{In: d.URI(), To: files(t, "csv", "sts"), Out: storage.Join(root, "out"), Lossy: true}
		first, err := Export(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var misused *fault.Error
		if _, err := Export(t.Context(), o); !errors.As(err, &misused) || misused.Kind != fault.Usage {
			t.Errorf("again: %v", err)
		}
		o.Overwrite = true
		second, err := Export(t.Context(), o)
		if diff := cmp.Diff(first, second); diff != "" || err != nil {
			t.Errorf("%v: -first +second:\n%s", err, diff)
		}
	}
}

// A store that fails while files are written leaves no file.
func TestAFailureLeavesNoFile(t *testing.T) {
	root := "mem://convert-failure"
	d, _ := grouped(t, root)
	ctx := storage.Wrapping(t.Context(), func(b *storage.Bucket) *storage.Bucket {
		return b.WithHook(func(op, _ string) error {
			if op == "publish" {
				return errors.New("no")
			}
			return nil
		})
	})
	_, err := Export(ctx, ExportOptions{In: d.URI(), To: files(t, "rows", "csv"), Out: root + "/out"})
	if err == nil {
		t.Fatal("no error")
	}
	b, err := storage.Open(t.Context(), root+"/out")
	if err != nil {
		t.Fatal(err)
	}
	for o, err := range b.List(t.Context(), "") {
		t.Errorf("%v, %v", o, err)
	}
}

func TestFilters(t *testing.T) {
	root := t.TempDir()
	d, want := grouped(t, root)
	rules, err := redaction.Load("rules", []byte("patterns: [{name: all, regexp: '(?s).+'}]"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r, err := Export(t.Context(),
		ExportOptions{In: d.URI(), To: files(t, "rows"), Out: "-", Stdout: &out, Statuses: []string{outcomes.StatusOK},
			Where:  `advantage > 0 && !("none" in rewards)`,
			Redact: rules})
	if err != nil {
		t.Fatal(err)
	}
	var ids, got []string
	for _, row := range want {
		if row.Status == outcomes.StatusOK && row.Advantage != nil && *row.Advantage > 0 {
			ids = append(ids, row.TrajectoryID)
		}
	}
	for _, row := range decoded(t, out.Bytes()) {
		got = append(got, row.TrajectoryID)
		if row.Answer != "[redacted:all]" {
			t.Errorf("answer %q", row.Answer)
		}
	}
	if !slices.Equal(ids, got) || len(ids) == 0 || r.Rows != int64(len(want)) || r.Filtered["status"]+r.Filtered["where"] != r.Rows-int64(len(ids)) {
		t.Errorf("%d rows, want %d: %+v", len(got), len(ids), r)
	}
}

// Rows of a group that are not adjacent are no group for formats that are made
// from whole groups.
func TestScatteredGroups(t *testing.T) {
	root := t.TempDir()
	base, wide := rollout(t, root, randomtest.Options{Groups: 2, Generations: 4, Messages: 3, SampledTokens: 9, PromptTokens: 9})
	uri := filepath.Join(root, "group")
	ref := base.Ref("base", uri)
	shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "group", Version: 1, Kind: schema.KindGroups, Inputs: []manifest.Ref{ref}, Base: &ref},
		shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table, stats := shards.NewTable[formats.Member](shard, "", 0), shards.NewTable[formats.GroupStats](shard, schema.TableGroups, -1)
	var failed error
	for _, group := range wide {
		var members []formats.Member
		for i, row := range group {
			reward := float64(i)
			members = append(members,
				formats.Member{TrajectoryID: row.TrajectoryID, ExampleID: row.ExampleID, GroupID: fmt.Sprint("by-", i%2), Generation: row.Generation,
					Status: row.Status, Reward: &reward})
		}
		failed = errors.Join(failed, table.Write(t.Context(), members))
	}
	failed = errors.Join(failed, stats.Write(t.Context(), []formats.GroupStats{{GroupID: "by-0", Count: 4}, {GroupID: "by-1", FirstRow: 1, Count: 4}}))
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	o := ExportOptions{In: uri, To: files(t, "trl-sft"), Out: filepath.Join(root, "x.jsonl"), Choice: trainset.Choice{Best: -1}}
	if _, err := Export(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the rows of a group are not adjacent") {
		t.Errorf("%v", err)
	}
	o.To = files(t, "chat")
	if _, err := Export(t.Context(), o); err != nil {
		t.Error(err)
	}
}

func TestTheExtensionNamesTheForm(t *testing.T) {
	root := t.TempDir()
	d, _ := grouped(t, root)
	run := func(to, name string) error {
		_, err := Export(t.Context(), ExportOptions{In: d.URI(), To: files(t, to), Out: filepath.Join(root, name), Lossy: true})
		return err
	}
	if err := run("chat", "x.parquet"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "x.parquet"))
	if err != nil || !bytes.HasPrefix(data, []byte("PAR1")) {
		t.Errorf("%v: it begins with %q", err, data[:min(len(data), 4)])
	}
	if err := run("csv", "x.jsonl"); err == nil || !strings.Contains(err.Error(), "the format csv has no form for .jsonl") {
		t.Error(err)
	}
	if err := run("csv", "table.of.2026"); err != nil {
		t.Error(err)
	}
}
