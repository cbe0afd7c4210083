package serve

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/storage"
)

// writeUsed writes a rollout that used calls, with a trajectory for each, and its scores.
func writeUsed(t *testing.T, dir string, calls int) {
	t.Helper()
	var wide []formats.Trajectory
	var thin []formats.Score
	for k := range calls {
		id, reward := formats.TrajectoryID("run", "a", 0, k), float64(k%2)
		wide = append(wide, formats.Trajectory{TrajectoryID: id, ExampleID: "a", Generation: int32(k), Status: outcomes.StatusOK, StopReason: outcomes.StopDone})
		thin = append(thin, formats.Score{TrajectoryID: id, ExampleID: "a", Generation: int32(k), Status: outcomes.StatusOK, Reward: &reward})
	}
	facts := map[string]float64{"calls": float64(calls), "prompt_tokens": float64(10 * calls), "completion_tokens": float64(3 * calls)}
	rollout := writeFacts(t, dir+"/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, wide, -1, shards.Outcome{Facts: facts})
	base := rollout.Ref("base", dir+"/score")
	writeFacts(t, dir+"/score", manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{base}, Base: &base}, thin, 0,
		shards.Outcome{Counts: map[string]int64{"scored": int64(calls)}, Facts: map[string]float64{"reward_sum": float64(calls / 2)}})
}

func writeFacts[T any](t *testing.T, uri string, spec manifest.Spec, rows []T, base int64, outcome shards.Outcome) *dataset.Dataset {
	t.Helper()
	spec.Version = 1
	shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err == nil {
		err = shards.NewTable[T](shard, "", base).Write(t.Context(), rows)
	}
	if err == nil {
		_, err = shard.Commit(t.Context(), outcome)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// used returns the sum of calls and of tokens over the manifests below a folder.
func used(t *testing.T, root string) (calls, tokens int) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != manifest.FileName {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var m struct {
			Dataset struct{ Facts map[string]float64 }
		}
		err = json.Unmarshal(data, &m)
		calls += int(m.Dataset.Facts["calls"])
		tokens += int(m.Dataset.Facts["prompt_tokens"] + m.Dataset.Facts["completion_tokens"])
		return err
	})
	if err != nil || calls == 0 {
		t.Fatal(calls, err)
	}
	return calls, tokens
}

// sameTotals checks that the report, the run's page and the manifests have the same sums.
func sameTotals(t *testing.T, root string) (page string) {
	t.Helper()
	calls, tokens := used(t, root)
	run, err := report.Make(t.Context(), report.Options{Root: root, NoFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	var cost history.Cost
	for _, e := range run.Epochs {
		cost.Calls += e.Cost.Calls
		cost.PromptTokens += e.Cost.PromptTokens + e.Cost.CompletionTokens
	}
	if int(cost.Calls) != calls || int(cost.PromptTokens) != tokens {
		t.Errorf("the report has %d calls and %d tokens, want %d and %d", cost.Calls, cost.PromptTokens, calls, tokens)
	}
	s, err := New(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.datasets.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range run.Epochs {
		if counted, err := s.count(t.Context(), l.Epochs()[e.Epoch], e.Epoch); err != nil || counted.Cost != e.Cost {
			t.Errorf("epoch %d: %+v, want %+v, %v", e.Epoch, counted.Cost, e.Cost, err)
		}
	}
	r := reads(t, root)
	page = r.get("/", http.StatusOK)
	for _, tile := range history.Tiles(run) {
		if tile.Name == "Tokens" && !strings.Contains(page, tile.Note) {
			t.Errorf("the run's page does not have %s %s", tile.Name, tile.Value)
		}
	}
	return page
}

// TestOneTotal checks that a run whose last epoch has only a validation has the same
// calls and tokens in the report, on the run's page and in its manifests, whatever the
// times of its files are.
func TestOneTotal(t *testing.T) {
	root := t.TempDir() + "/run"
	writeUsed(t, root+"/epoch-0", 1204)
	writeUsed(t, root+"/epoch-0/validation", 110)
	writeUsed(t, root+"/epoch-1", 1307)
	writeUsed(t, root+"/epoch-2/validation", 131)
	sameTotals(t, root)
	if _, err := report.Make(t.Context(), report.Options{Root: root}); err != nil {
		t.Fatal(err)
	}
	before := sameTotals(t, root)
	for name, at := range map[string]func(path string) time.Time{
		"all new":            func(string) time.Time { return time.Now() },
		"manifests newer":    func(path string) time.Time { return times(path, manifest.FileName, time.Hour) },
		"manifests older":    func(path string) time.Time { return times(path, manifest.FileName, -time.Hour) },
		"all before an hour": func(string) time.Time { return time.Now().Add(-time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			other := t.TempDir() + "/run"
			if err := os.CopyFS(other, os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			changeTimes(t, other, at)
			page := sameTotals(t, other)
			if strings.Contains(page, "without bands") || strings.Contains(before, "without bands") {
				t.Error("an epoch of the report is without bands")
			}
			for _, stage := range []string{"rollout", "score"} {
				if err := os.RemoveAll(fmt.Sprintf("%s/epoch-1/%s", other, stage)); err != nil {
					t.Fatal(err)
				}
			}
			writeUsed(t, other+"/epoch-1", 2468)
			changeTimes(t, other, at)
			if page = sameTotals(t, other); !strings.Contains(page, "without bands: 1.") {
				t.Error("another dataset than the report's is shown as the report's")
			}
		})
	}
}

func times(path, name string, later time.Duration) time.Time {
	if filepath.Base(path) == name {
		return time.Now().Add(later)
	}
	return time.Now()
}

func changeTimes(t *testing.T, root string, at func(path string) time.Time) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, at(path), at(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamagedManifest checks that a manifest that cannot be used is named on the pages of
// the run and of its epoch, and hides nothing else; with the report's files and without.
func TestDamagedManifest(t *testing.T) {
	for _, reported := range []bool{false, true} {
		t.Run(fmt.Sprint("reported ", reported), func(t *testing.T) {
			root := t.TempDir() + "/run"
			for e, calls := range []int{1204, 1307} {
				writeUsed(t, fmt.Sprintf("%s/epoch-%d", root, e), calls)
			}
			if reported {
				if _, err := report.Make(t.Context(), report.Options{Root: root}); err != nil {
					t.Fatal(err)
				}
			}
			name := root + "/epoch-1/rollout/" + manifest.FileName
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(strings.Replace(string(whole), `"rows": 1307`, `"rows": -1`, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			const damage = "epoch-1/rollout/_dataset.json&#34;: damaged: "
			s := serve(t, root)
			page := s.page("/")
			total := "1,204"
			if reported {
				total = "2,511"
			}
			if !strings.Contains(page, damage) || !strings.Contains(page, total) {
				t.Errorf("the run's page does not have %q and %s calls:\n%s", damage, total, page)
			}
			if page := s.page("/e/0"); strings.Contains(page, damage) || !strings.Contains(page, "1,204") {
				t.Errorf("the page of the whole epoch:\n%s", page)
			}
			if page := s.page("/e/1"); strings.Count(page, damage) != 1 || strings.Contains(page, "1,307") != reported {
				t.Errorf("the page of the damaged epoch:\n%s", page)
			}
			if code, page := s.get("/d/epoch-1%2Frollout"); code != http.StatusUnprocessableEntity || !strings.Contains(page, damage) {
				t.Errorf("the page of the damaged dataset:\n%s", page)
			}
			if err := os.WriteFile(name, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			s.server.datasets.Forget()
			if page := s.page("/"); strings.Contains(page, damage) || !strings.Contains(page, "2,511") {
				t.Errorf("the run's page after the manifest was put back:\n%s", page)
			}
		})
	}
}

// TestPrunedTotal checks that a run has the totals of a dataset that was pruned, and that
// the page of its epoch says so.
func TestPrunedTotal(t *testing.T) {
	root := t.TempDir() + "/run"
	writeUsed(t, root+"/epoch-0", 1204)
	writeUsed(t, root+"/epoch-1", 1307)
	bucket, err := storage.Open(t.Context(), root+"/epoch-0/rollout")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := seal.Survey(t.Context(), bucket, nil, time.Now())
	if err == nil {
		err = folder.Prune(t.Context(), "--keep-epochs 1", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	if page := sameTotals(t, root); strings.Contains(page, "the dataset is gone") {
		t.Errorf("the run's page:\n%s", page)
	}
	page := serve(t, root).page("/e/0")
	if strings.Count(page, "epoch-0/rollout&#34;: the dataset is gone: pruned on ") != 1 || !strings.Contains(page, "1,204") {
		t.Errorf("the epoch's page:\n%s", page)
	}
}

// TestAnUnscoredExtension checks that all of an epoch's page is of the datasets that the
// report counts.
func TestAnUnscoredExtension(t *testing.T) {
	root := t.TempDir() + "/run"
	writeUsed(t, root+"/epoch-0", 12)
	writeUsed(t, root+"/epoch-0/extended", 17)
	stops := func() int64 {
		s, err := New(t.Context(), Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/e/0", nil)
		r.SetPathValue("epoch", "0")
		page, err := s.epochPage(r)
		if err != nil {
			t.Fatal(err)
		}
		m := page.(*epochModel)
		if len(m.Stops) != 1 || m.Stops[0].N != m.Train.Trajectories {
			t.Fatalf("%v of %d trajectories", m.Stops, m.Train.Trajectories)
		}
		return m.Stops[0].N
	}
	if n := stops(); n != 17 {
		t.Errorf("%d with a scored extension", n)
	}
	if err := os.RemoveAll(root + "/epoch-0/extended/score"); err != nil {
		t.Fatal(err)
	}
	if n := stops(); n != 12 {
		t.Errorf("%d with one that is not scored", n)
	}
}

// TestTasksThatChangedUnderTheirIDs checks that an epoch's page says that a task is another
// one than the epoch before had under its id.
func TestTasksThatChangedUnderTheirIDs(t *testing.T) {
	root := t.TempDir() + "/run"
	for e, task := range []string{`{"id":"a","answer":"1"}`, `{"answer":"1","id":"a"}`, `{"id":"a","answer":"2"}`} {
		rows := []formats.Trajectory{{TrajectoryID: formats.TrajectoryID("run", "a", e, 0), ExampleID: "a", Epoch: int32(e), Example: task,
			Status: outcomes.StatusOK, StopReason: outcomes.StopDone}}
		writeFacts(t, fmt.Sprintf("%s/epoch-%d/rollout", root, e), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories,
			Params: map[string]any{"examples": task}}, rows, -1, shards.Outcome{})
	}
	s, err := New(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	for e, want := range []int{0, 0, 1} {
		r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/e/%d", e), nil)
		r.SetPathValue("epoch", fmt.Sprint(e))
		page, err := s.epochPage(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := page.(*epochModel).Problems; len(got) != want || want > 0 && !strings.Contains(got[0], `1 task changed under the same id, such as "a"`) {
			t.Errorf("epoch %d: %q", e, got)
		}
	}
}
