package systemtest

import (
	"bufio"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// serveView starts rollmill view on a free port and returns its link, with the
// token, and its process.
func serveView(t *testing.T, root string, args ...string) (link string, process *os.Process) {
	t.Helper()
	cmd := exec.Command("rollmill", append([]string{"view", root}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("view printed no link: %v", err)
	}
	return strings.TrimSpace(line), cmd.Process
}

// drive runs a script of testdata/view in the browser.
func drive(t *testing.T, script string, args ...string) {
	t.Helper()
	out, err := exec.Command("node", append([]string{filepath.Join("..", "..", "..", "testdata", "view", script)}, args...)...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%s: %v", script, err)
	}
}

func needBrowser(t *testing.T) {
	t.Helper()
	_, err := os.Stat("../../../.stores/view/node_modules/playwright-core")
	if _, missing := exec.LookPath("chromium"); missing != nil || err != nil {
		t.Skip("there is no browser: .ci/install browser installs one")
	}
}

// TestBrowserOpensEveryPage follows the links of runs with odd conversations, with one
// group, with no row, and with many groups. VIEW_SHOTS is a folder for pictures.
func TestBrowserOpensEveryPage(t *testing.T) {
	needBrowser(t)
	dir := t.TempDir()
	one := randomtest.Options{Run: "view", Generations: 4, Messages: 4, SampledTokens: 40, PromptTokens: 20}
	none := func(func([]formats.Trajectory) bool) {}
	for name, groups := range map[string]func(func([]formats.Trajectory) bool){"one": randomtest.Trajectories(1, one), "none": none} {
		if err := storeEpoch(t, filepath.Join(dir, name), 0, groups); err != nil {
			t.Fatal(err)
		}
	}
	many := 2_000
	if os.Getenv("VIEW_SHOTS") != "" {
		many = 100_000
	}
	storeEpochs(t, filepath.Join(dir, "many"), 1, many)
	roots := map[string]string{"odd": storeOdd(t, dir), "one": filepath.Join(dir, "one"), "none": filepath.Join(dir, "none"),
		"many": filepath.Join(dir, "many")}
	if os.Getenv("VIEW_SHOTS") != "" {
		roots["runs"] = storeRuns(t) // TestBrowserComparesRuns inspects them
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			link, _ := serveView(t, root)
			folder := os.Getenv("VIEW_SHOTS")
			if folder != "" {
				folder = filepath.Join(folder, name)
			}
			args := []string{link, folder}
			if name == "odd" {
				args = append(args, oddPages()...)
			} else {
				t.Setenv("EACH", "1") // page of a kind
			}
			if name == "runs" {
				args = append(args, "/compare?run=first&run=second", "/compare?run=first&run=second&run=bare&run=untrained&run=rollout")
			}
			drive(t, "crawl.mjs", args...)
		})
	}
}

// oddPages returns the addresses of every odd conversation and group.
func oddPages() []string {
	var out []string
	rollout := "/d/" + url.PathEscape("epoch-0/rollout")
	group := "/d/" + url.PathEscape("epoch-0/group")
	for g := range oddGroups() {
		out = append(out, group+"/g/"+url.PathEscape(g[0].ExampleID+"@0"))
		for _, r := range g {
			out = append(out, rollout+"/t/"+url.PathEscape(r.TrajectoryID))
		}
	}
	return append(out, "/diff?a=epoch-0%2Fscore&b=epoch-0%2Fagain", "/search?d=epoch-0%2Frollout&q=hit")
}

// TestBrowserWalk clicks and types through the odd run.
func TestBrowserWalk(t *testing.T) {
	needBrowser(t)
	link, _ := serveView(t, storeOdd(t, t.TempDir()))
	drive(t, "walk.mjs", link)
}

// TestBrowserKeyboard does so without a mouse.
func TestBrowserKeyboard(t *testing.T) {
	needBrowser(t)
	link, _ := serveView(t, storeOdd(t, t.TempDir()))
	drive(t, "keyboard.mjs", link)
}

// TestBrowserWatchesARollout looks at a rollout against the sandbox, which answers a
// part of its calls, and the others when the browser has seen those.
func TestBrowserWatchesARollout(t *testing.T) {
	needBrowser(t)
	server, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	seen := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") && calls.Add(1) > 30 {
			<-seen
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.Close(); _ = server.Close() })
	see := sync.OnceFunc(func() { close(seen) })
	t.Cleanup(see)
	_, examples := newEngine(t)
	root := filepath.Join(t.TempDir(), "run")
	stage := exec.Command("rollmill", "rollout", "--root", root, "--epoch", "0", "--examples", examples, "--generations", "48", "--url", web.URL+"/v1",
		"--model", "rollmill/sandbox", "--journal-every", "100ms", "--quiet")
	stage.Stderr = os.Stderr
	if err := stage.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { see(); _ = stage.Wait() })
	for segments := 0; segments == 0; time.Sleep(20 * time.Millisecond) {
		err := filepath.WalkDir(filepath.Join(root, "epoch-0"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(path, "/journal-") {
				segments++
			}
			return nil // the folder may not be there yet
		})
		if err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	link, _ := serveView(t, root)
	watch := exec.Command("node", "../../../testdata/view/watch.mjs", link)
	watch.Stderr = os.Stderr
	out, err := watch.StdoutPipe()
	if err == nil {
		err = watch.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		if strings.HasPrefix(lines.Text(), "seen") {
			see()
		}
	}
	if err := watch.Wait(); err != nil {
		t.Errorf("watch.mjs: %v", err)
	}
}
