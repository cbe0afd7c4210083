package systemtest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// storeRuns makes a folder of five runs: two that a trainer trained, with other settings and
// other rewards in validation, one of them without the report's files, one that trained
// nothing, and one that has only a rollout.
func storeRuns(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "runs")
	url, tasks := newEngine(t, "project/first", "project/second")
	for name, settings := range map[string][]string{
		"first":  {"rollout.generations=4", "submit.learning-rate=0.01", "validation.reward=n=expr:1.0", "submit.target=project/first"},
		"second": {"rollout.generations=2", "submit.learning-rate=0.02", "validation.reward=n=expr:0.0", "submit.target=project/second"},
	} {
		args := []string{"train", "--root", filepath.Join(folder, name), "--epochs", "2", "--validation-interval", "1", "--validation-examples", tasks}
		for _, s := range append(settings, "rollout.examples="+tasks, "score.reward=n=expr:generation", "submit.backend=art", "submit.url="+url) {
			args = append(args, "--set", s)
		}
		if code, _, stderr := rollmill(t, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	for name, from := range map[string]string{"bare": "first", "untrained": "first", "rollout/epoch-0/rollout": "second/epoch-0/rollout"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(folder, from))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bare/report.json", "untrained/epoch-0/submit", "untrained/epoch-1", "untrained/epoch-2",
		"untrained/report.json"} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestViewListsRuns lists five runs, opens each, and compares some.
func TestViewListsRuns(t *testing.T) {
	folder := storeRuns(t)
	v := startView(t, folder)
	list := v.has("/", `href="/r/first"`, `href="/r/second"`, `href="/r/bare"`, `href="/r/untrained"`, `href="/r/rollout"`)
	if n := strings.Count(list, `name="run"`); n != 5 {
		t.Errorf("%d runs", n)
	}
	for name, want := range map[string]string{"first": "<td>2</td>", "bare": "<td>2</td>", "untrained": "<td>no</td>", "rollout": "<td>no</td>"} {
		_, row, _ := strings.Cut(list, `href="/r/`+name+`"`)
		if row, _, _ = strings.Cut(row, "</tr>"); !strings.Contains(row, want) {
			t.Errorf("the row of %s has no %s:\n%s", name, want, row)
		}
	}
	v.has("/r/first", "<h1>first</h1>", `href="/r/first/e/1"`, `rel="next"`, `rel="prev"`, `<a href="/" data-up>runs</a>`, "completed")
	v.has("/r/first/e/1", `href="/r/first/e/0"`, `<a href="/r/first" data-up>`, "/d/first%2Fepoch-1%2Fgroup/g/")
	v.has("/d/second%2Fepoch-0%2Frollout", `href="/r/second/e/0" data-up`)
	if page := v.page("/r/untrained"); strings.Contains(page, "/e/1") || strings.Contains(page, "completed") {
		t.Error("the page of a run has figures of another")
	}
	page := v.has("/compare?run=first&run=second", "rollout.generations", ">4</td>", ">2</td>", "submit.learning-rate", ">0.01</td>", ">0.02</td>",
		"validation/score.reward", "2 of 2 examples of validation in epoch 2 were solved", ">1.00</a>", ">0.00</a>", "/d/first%2Fepoch-2%2Fvalidation%2Fscore/g/a@2", "<figure>")
	if strings.Contains(page, "rollout.run") || strings.Contains(page, "rollout.epoch") {
		t.Error("the name of a run is listed as a setting")
	}
	v.has("/compare?run=first&run=bare", "0 of 2 examples of validation in epoch 2 were solved")
	v.has("/compare?run=first&run=rollout", "No epoch has scores in all of the runs", "submit.learning-rate")
	v.has("/compare?run=first", "Choose two runs or more", `name="run"`)
	for path, status := range map[string]int{"/compare?run=first&run=none": 404, "/r/none": 404, "/r/first/e/9": 404, "/e/0": 404,
		"/compare?run=a&run=b&run=c&run=d&run=e&run=f&run=g": 400} {
		answer, err := v.client.Get(v.base + path)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, status)
		}
	}
	priced := startView(t, folder, "--prices", `*={"input":1000,"output":1000}`)
	priced.has("/", "cost ")
	priced.has("/r/first", "<dt>Cost</dt>", "rollout ")
	one := startView(t, filepath.Join(folder, "rollout")) // a run of its own is no list
	one.has("/", `href="/e/0"`)
	if page := one.page("/runs"); strings.Count(page, `name="run"`) != 1 {
		t.Error("the list of one run")
	}
	if answer, err := one.client.Get(one.base + "/r/first"); err != nil || answer.StatusCode != http.StatusNotFound {
		t.Errorf("a run beside the root: %v, %v", answer.StatusCode, err)
	}
}

// TestBrowserComparesRuns lists, compares and opens runs with keys and clicks.
func TestBrowserComparesRuns(t *testing.T) {
	needBrowser(t)
	link, _ := serveView(t, storeRuns(t))
	drive(t, "runs.mjs", link)
}
