package file_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/storage"
)

func place(t *testing.T, uri string) backends.Place {
	t.Helper()
	b, err := storage.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return backends.Place{URI: b.URI(), Begin: func(ctx context.Context) (backends.Draft, error) { return b.Draft(ctx) }, Read: b.Read}
}

func trainer(t *testing.T, cfg file.Config, p backends.Place) *file.Trainer {
	t.Helper()
	tr, err := file.New(cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestKind(t *testing.T) {
	backendtest.Kind(t, file.Kind, nil)
}

func TestConformance(t *testing.T) {
	for _, uri := range []string{"", "mem://files"} {
		backendtest.Run(t, func(t *testing.T) backendtest.Subject {
			dir := uri + "/" + t.Name()
			if uri == "" {
				dir = t.TempDir()
			}
			p := place(t, dir)
			return backendtest.Subject{Trainer: trainer(t, file.Config{}, p), Jobs: func() int {
				if _, err := p.Read(t.Context(), "_files.json"); err != nil {
					return 0
				}
				return 1
			}, Sent: func() (out []string) {
				for _, name := range append(file.Kinds(), "_files") {
					for _, ext := range []string{".json", ".jsonl", ".parquet"} {
						if data, err := p.Read(t.Context(), strings.TrimSuffix(name, ".parquet")+ext); err == nil {
							out = append(out, string(data))
						}
					}
				}
				return out
			}}
		})
	}
}

// write submits a batch and returns the folder.
func write(t *testing.T, cfg file.Config, groups backends.Groups, tables ...formats.Tables) string {
	t.Helper()
	dir := t.TempDir()
	tr := trainer(t, cfg, place(t, dir))
	for _, batch := range tables {
		tr.Use(batch, nil)
	}
	out, err := tr.Submit(t.Context(), backends.Submission{Token: "x"}, groups, func(backends.JobEvent) {})
	if err != nil || out.State != receipts.JobCompleted {
		t.Fatalf("%+v, %v", out, err)
	}
	return dir
}

func rows(t *testing.T, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for line := range bytes.Lines(data) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

func TestTheFiles(t *testing.T) {
	dir := write(t, file.Config{}, backendtest.Batch())
	art := rows(t, dir+"/art.jsonl")
	if len(art) != 3 || len(art[0]["trajectories"].([]any)) != 4 {
		t.Errorf("%v", art)
	}
	pairs := rows(t, dir+"/trl-preference.jsonl")
	if len(pairs) != 3 {
		t.Fatalf("%v", pairs)
	}
	text := func(v any) string { return v.([]any)[0].(map[string]any)["content"].(string) }
	p := pairs[1]
	if text(p["prompt"]) != "what is example-1" || text(p["chosen"]) != "answer 3" || text(p["rejected"]) != "answer 0" || p["score_chosen"] != 1.0 ||
		p["score_rejected"] != 0.0 {
		t.Errorf("%v", p)
	}
	if _, there := p["tools"]; there {
		t.Error("tools without tools")
	}
	prompts := rows(t, dir+"/trl-prompts.jsonl")
	if len(prompts) != 3 || prompts[2]["example_id"] != "example-2" || prompts[2]["example"] != `{"id":"example-2"}` {
		t.Errorf("%v", prompts)
	}
}

func TestTheSameBatchGivesTheSameBytes(t *testing.T) {
	// no slime, sequences or prime-rl: there are no prompt ids
	one, two := write(t, file.Config{}, backendtest.Batch()), write(t, file.Config{}, backendtest.Batch())
	files, err := filepath.Glob(one + "/*")
	if err != nil || len(files) != len(file.Kinds())-2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		a, _ := os.ReadFile(f)
		b, _ := os.ReadFile(filepath.Join(two, filepath.Base(f)))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs", filepath.Base(f))
		}
	}
}

// TestInvalidPairsAreNotMade: each group that gives no pair is counted
// with its reason, before anything is written.
func TestInvalidPairsAreNotMade(t *testing.T) {
	tie := backendtest.Group(0)
	for i := range tie {
		tie[i].Reward = tie[0].Reward
	}
	other := backendtest.Group(1)
	other[3].Messages[0].Content = "another question"
	turns := backendtest.Group(2)
	for i := range turns {
		more := turns[i].Messages[1]
		more.Parent = 2
		turns[i].Messages = append(turns[i].Messages, formats.Message{Parent: 1, Role: "user", Content: "go on", Call: -1}, more)
	}
	unscored := backendtest.Group(3)
	for i := range unscored {
		unscored[i].Reward = nil
	}
	batch := func(yield func([]formats.Trajectory, error) bool) {
		for _, g := range [][]formats.Trajectory{tie, other, turns, unscored, backendtest.Group(4)} {
			if !yield(g, nil) {
				return
			}
		}
	}
	cfg := file.Config{Kinds: []string{"trl-preference"}}
	stats, err := trainer(t, cfg, place(t, t.TempDir())).Preflight(t.Context(), batch, func(p backends.Problem) { t.Errorf("%+v", p) })
	if err != nil || len(stats.Notes) != 1 || !strings.Contains(stats.Notes[0], "trl-preference.jsonl: no row for some groups: different prompts (prompts 1), "+
		"equal rewards (tie 1), fewer than two scored members (too_few 1), several messages were sampled (turns 1)") {
		t.Errorf("%+v, %v", stats, err)
	}
	dir := write(t, cfg, batch)
	if got := rows(t, dir+"/trl-preference.jsonl"); len(got) != 1 || got[0]["chosen_id"] != formats.TrajectoryID("run", "example-4", 0, 3) {
		t.Errorf("%v", got)
	}
	if _, err := os.Stat(dir + "/art.jsonl"); !os.IsNotExist(err) {
		t.Error("a file that was not asked for")
	}
}

// TestRowWeights: the weights of the whole batch, as a trainer's mean over
// trajectories or tokens needs them, from the one pass that the preflight makes.
func TestRowWeights(t *testing.T) {
	passes := 0
	batch := func(yield func([]formats.Trajectory, error) bool) {
		passes++
		varied()(yield)
	}
	plain := write(t, file.Config{Kinds: []string{"slime"}}, batch)
	weighted := write(t, file.Config{Kinds: []string{"slime"}, RowWeight: sequences.EachSequence}, batch)
	if passes != 3 {
		t.Errorf("%d passes over the batch, want 1 to write and 1 more for weights", passes)
	}
	var out, all float64
	one, two := rows(t, plain+"/slime.jsonl"), rows(t, weighted+"/slime.jsonl")
	totals := sequences.Totals{}
	trained := map[string]float64{}
	for _, r := range one {
		m := r["metadata"].(map[string]any)
		if m["sequence"].(float64) == 0 {
			totals.Trajectories++
		}
		totals.Sequences++
		for _, v := range r["loss_mask"].([]any) {
			trained[m["trajectory_id"].(string)] += v.(float64)
		}
	}
	for i, r := range one {
		was, is := r["metadata"].(map[string]any), two[i]["metadata"].(map[string]any)
		tokens := 0.0
		for _, v := range r["loss_mask"].([]any) {
			tokens += v.(float64)
		}
		share := tokens / trained[was["trajectory_id"].(string)] // of the trajectory, in slime's loss
		weight := float64(totals.Trajectories) / float64(totals.Sequences) / share
		if want := was["advantage"].(float64) * weight; math.Abs(is["advantage"].(float64)-want) > 1e-12 {
			t.Errorf("sample %d has the advantage %v, want %v", i, is["advantage"], want)
		}
		out, all = out+weight*share, all+share
	}
	if math.Abs(out-all) > 1e-9 {
		t.Errorf("the batch weighs %v, without weights %v", out, all)
	}
	for _, kinds := range [][]string{nil, {"slime", "trl-kto"}} {
		_, err := file.New(file.Config{Kinds: kinds, RowWeight: sequences.Token}, place(t, t.TempDir()))
		var invalid *file.Error
		if !errors.As(err, &invalid) || !strings.Contains(invalid.What, "has no weights") ||
			invalid.Help != "leave out --row-weight, or name kinds with weights: --kinds slime --kinds sequences --kinds prime-rl" {
			t.Errorf("%v: %+v", kinds, err)
		}
	}
}

func TestArgumentsAreObjects(t *testing.T) {
	g := backendtest.Group(0)
	for i := range g {
		g[i].ToolSets, g[i].Calls[0].Tools = []string{`[{"type":"function"}]`}, 0
		g[i].Messages[1].ToolCalls = []formats.ToolCall{{ID: "c", Name: "search", Arguments: `{"q":1}`}}
	}
	dir := write(t, file.Config{}, func(yield func([]formats.Trajectory, error) bool) { yield(g, nil) })
	p := rows(t, dir+"/trl-preference.jsonl")[0]
	call := p["chosen"].([]any)[0].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)
	if p["tools"] != `[{"type":"function"}]` || !reflect.DeepEqual(call["arguments"], map[string]any{"q": 1.0}) {
		t.Errorf("%v", p)
	}
}

func TestAnUnknownKindIsRefused(t *testing.T) {
	if _, err := file.New(file.Config{Kinds: []string{"parquet"}}, place(t, t.TempDir())); err == nil || !strings.Contains(err.Error(), "trl-prompts") {
		t.Error(err)
	}
}

// TestPairsOfOtherGroups: a table that is not in the order of the groups fails,
// and no file is there.
func TestPairsOfOtherGroups(t *testing.T) {
	dir := t.TempDir()
	tr := trainer(t, file.Config{Kinds: []string{"trl-kto"}}, place(t, dir))
	tr.Use(backendtest.TablesOf(nil, []formats.Label{{GroupID: "nobody's"}}), nil)
	_, err := tr.Submit(t.Context(), backends.Submission{Token: "x"}, backendtest.Batch(), func(backends.JobEvent) {})
	files, _ := filepath.Glob(dir + "/*")
	if err == nil || !strings.Contains(err.Error(), `group "nobody's"`) || files != nil {
		t.Errorf("%v, files %v", err, files)
	}
	if _, err := tr.Preflight(t.Context(), backendtest.Batch(), func(backends.Problem) {}); err == nil {
		t.Error("not seen before")
	}
}

// TestAFileWithoutARowIsAProblem: of a kind that was named. Of all kinds, the
// default, those are written that can be, and a note has the rest.
func TestAFileWithoutARowIsAProblem(t *testing.T) {
	preflight := func(cfg file.Config) (backends.BatchStats, []backends.Problem) {
		tr, err := file.New(cfg, place(t, t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		var problems []backends.Problem
		stats, err := tr.Preflight(t.Context(), withoutIDs(), func(p backends.Problem) { problems = append(problems, p) })
		if err != nil {
			t.Fatal(err)
		}
		return stats, problems
	}
	if _, problems := preflight(file.Config{Kinds: []string{"slime"}}); len(problems) != 1 || problems[0].Reason != file.NoRows ||
		problems[0].Detail != "slime.jsonl would have no row: the engine gave no token ids (no_ids 12)" ||
		!strings.Contains(problems[0].Hint, "sample from an engine that returns token ids") {
		t.Errorf("%+v", problems)
	}
	stats, problems := preflight(file.Config{})
	notes := strings.Join(stats.Notes, "\n")
	if len(problems) != 0 || !strings.Contains(notes, "not written: art.jsonl, art-log-v1.parquet, art-log-v2.parquet: the engine gave no token ids (no_token_ids 12)") ||
		strings.Contains(notes, "recomputes") || // of files that are not written

		!strings.Contains(notes, "not written: slime.jsonl, sequences.parquet, prime-rl.bin: the engine gave no token ids (no_ids 12)") {
		t.Errorf("%+v\n%s", problems, notes)
	}
	tr, err := file.New(file.Config{}, place(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	stats, err = tr.Preflight(t.Context(), withImages(), func(p backends.Problem) { problems = append(problems, p) })
	if err != nil || len(problems) != 1 || len(stats.Notes) != 0 || strings.Count(problems[0].Detail, "trl-sft.jsonl") != 1 ||
		!strings.Contains(problems[0].Detail, "\n  not written: ") || !strings.Contains(problems[0].Detail, ": content that is not text (parts ") {
		t.Errorf("each reason is said once, by the error: %+v, %+v, %v", stats.Notes, problems, err)
	}
	dir := write(t, file.Config{}, withoutIDs())
	for name, want := range map[string]bool{"art.jsonl": false, "slime.jsonl": false, "trl-sft.jsonl": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withImages is a batch that no kind can hold.
func withImages() backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		for rows := range withoutIDs() {
			for i := range rows {
				rows[i].Messages[0].ContentParts = `[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]`
			}
			if !yield(rows, nil) {
				return
			}
		}
	}
}

func withoutIDs() backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		for rows := range backendtest.Batch() {
			for i := range rows {
				m := &rows[i].Messages[1]
				m.TokenIDs, m.Logprobs = nil, nil
			}
			if !yield(rows, nil) {
				return
			}
		}
	}
}

// TestAMovedBaselineIsNoted: art and slime compute advantages of their own
// from the rewards that they are given.
func TestAMovedBaselineIsNoted(t *testing.T) {
	for kind, says := range map[string]string{"art": "ART recomputes advantages", "slime": "slime recomputes advantages"} {
		tr, err := file.New(file.Config{Kinds: []string{kind}}, place(t, t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		batch := func(yield func([]formats.Trajectory, error) bool) {
			rows := backendtest.Group(0)
			for i := range rows {
				rows[i].Advantage, rows[i].Messages[1].PromptDeltaIDs = new(float64), []int32{1}
			}
			yield(rows, nil)
		}
		stats, err := tr.Preflight(t.Context(), batch, func(p backends.Problem) { t.Errorf("%+v", p) })
		if notes := strings.Join(stats.Notes, "\n"); err != nil || !strings.Contains(notes, says) || !strings.Contains(notes, "--compat "+kind) {
			t.Errorf("%s: %v, %s", kind, err, notes)
		}
	}
}

// TestNames holds that NAME.EXT and the NAME-EXT of earlier versions are the same
// file, and the same submission.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"trl-preference": "trl-preference", "trl-preference.jsonl": "trl-preference", "sequences.parquet": "sequences",
		"trl-preference.parquet": "trl-preference-parquet", "trl-preference-parquet": "trl-preference-parquet",
	} {
		tr, err := file.New(file.Config{Kinds: []string{name}}, place(t, t.TempDir()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if kinds, _, _ := strings.Cut(tr.Target().Model, " "); kinds != want {
			t.Errorf("%s is submitted as %s, want %s", name, kinds, want)
		}
	}
	for _, name := range []string{"trl-kto.parquet", "trl-kto-parquet", "sequences.jsonl", "preference"} {
		if _, err := file.New(file.Config{Kinds: []string{name}}, place(t, t.TempDir())); err == nil {
			t.Errorf("%s is a kind of file", name)
		}
	}
}
