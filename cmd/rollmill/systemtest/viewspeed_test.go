package systemtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/storage/s3test"
)

// viewer is a client of rollmill view.
type viewer struct {
	t    *testing.T
	host string
	http.Client
}

// viewAs opens the link that view printed.
func viewAs(t *testing.T, link string) *viewer {
	t.Helper()
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{t, at.Host, http.Client{Jar: jar}}
	v.page(at.RequestURI())
	return v
}

// get returns the answer of an address.
func (v *viewer) get(path string) (status int, kind, body string) {
	v.t.Helper()
	resp, err := v.Get("http://" + v.host + path)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(data)
}

// page returns a page that must be there and complete, and how long it took.
func (v *viewer) page(path string) (string, time.Duration) {
	v.t.Helper()
	from := time.Now()
	for {
		status, _, body := v.get(path)
		if status != http.StatusOK || strings.Contains(body, `role="alert"`) {
			v.t.Fatalf("%s: status %d:\n%s", path, status, body)
		}
		if !strings.Contains(body, `id="building"`) {
			return body, time.Since(from)
		}
	}
}

var (
	groupLink      = regexp.MustCompile(`href="(/d/[^"/]+/g/[^"/?]+)"`)
	trajectoryLink = regexp.MustCompile(`href="(/d/[^"/]+/t/[^"/?]+)"`)
)

// TestViewOfManyEpochs opens a run of many epochs and prints how long each page
// takes and the most memory that the viewer used. VIEW_TRAJECTORIES is the number of
// trajectories in a hundred epochs, VIEW_RUN a folder in which the run is kept for
// the next time.
func TestViewOfManyEpochs(t *testing.T) {
	epochs, trajectories, root := 5, 2_000, filepath.Join(t.TempDir(), "run")
	if testing.Short() {
		epochs, trajectories = 3, 1_200
	}
	if n, err := strconv.Atoi(os.Getenv("VIEW_TRAJECTORIES")); err == nil {
		epochs, trajectories = 100, n
	}
	if kept := os.Getenv("VIEW_RUN"); kept != "" {
		root = filepath.Join(kept, fmt.Sprint(trajectories))
	}
	storeEpochs(t, root, epochs, trajectories)
	from := time.Now()
	link, process := serveView(t, root)
	v := viewAs(t, link)
	t.Logf("%d epochs, %d trajectories", epochs, trajectories)
	t.Logf("%-44s %6d ms", "start to the run's page", time.Since(from).Milliseconds())
	run, _ := v.page("/")
	for e := range epochs {
		if !strings.Contains(run, fmt.Sprintf(`href="/e/%d"`, e)) {
			t.Errorf("the run's page has no link to epoch %d", e)
		}
	}
	inEpoch := trajectories / epochs
	list := func(what, path string) string {
		body, took := v.page(path)
		t.Logf("%-44s %6d ms", what, took.Milliseconds())
		return body
	}
	for _, e := range []int{0, epochs - 1} {
		at := fmt.Sprintf("/d/epoch-%d%%2Fgroup", e)
		list("epoch", fmt.Sprintf("/e/%d", e))
		groups := list("groups, the first page of the epoch", at+"/groups")
		list("groups, the second page", at+"/groups?page=2")
		list("groups by spread", at+"/groups?sort=-spread")
		list("groups where mean > 0.3", at+"/groups?where="+url.QueryEscape("mean > 0.3"))
		rows := list("trajectories", at+"/trajectories")
		list("trajectories by reward", at+"/trajectories?sort=-reward")
		list("trajectories that failed", at+"/trajectories?where="+url.QueryEscape(`status == "failed"`))
		for what, body := range map[string]string{fmt.Sprint(inEpoch / tiny.Generations): groups, fmt.Sprint(inEpoch): rows} {
			if digits := regexp.MustCompile(`[^0-9]`).ReplaceAllString(body, ""); !strings.Contains(digits, what) {
				t.Errorf("the list of epoch %d does not say that it has %s rows", e, what)
			}
		}
		group, row := groupLink.FindStringSubmatch(groups), trajectoryLink.FindStringSubmatch(rows)
		if group == nil || row == nil {
			t.Fatalf("epoch %d: a list without links", e)
		}
		list("a group", group[1])
		list("a trajectory", row[1])
	}
	var slowest time.Duration
	for e := range epochs {
		_, took := v.page(fmt.Sprintf("/d/epoch-%d%%2Fgroup/trajectories", e))
		slowest = max(slowest, took)
	}
	t.Logf("the first page of trajectories of any epoch, at most: %d ms (aim: at most 300)", slowest.Milliseconds())
	t.Logf("%-44s %6.0f MB", "peak memory", peakMemory(t, process))
}

// peakMemory returns the highest resident memory of a process, in MB; 0 where there is
// no /proc.
func peakMemory(t *testing.T, process *os.Process) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Pid))
	if err != nil {
		return 0
	}
	found := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindStringSubmatch(string(status))
	if found == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kb, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1000
}

// TestViewRequests counts the requests that pages cost over a bucket.
func TestViewRequests(t *testing.T) {
	s := s3test.Start(t)
	root := s.URI("runs/view")
	storeEpochs(t, root, 2, 2_000)
	var mu sync.Mutex
	var asked []string
	s.OnRequest(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, fmt.Sprintln(r.Method, r.URL.Path, r.Header.Get("Range")))
	})
	counted := func(what string, limit int, do func() string) string {
		s.Reset()
		mu.Lock()
		asked = nil
		mu.Unlock()
		body := do()
		got := s.Counts()
		t.Logf("%-40s %2d requests %+v", what, got.Requests(), got)
		if got.Requests() > limit {
			mu.Lock()
			defer mu.Unlock()
			t.Errorf("%s: %d requests, at most %d:\n%s", what, got.Requests(), limit, asked)
		}
		return body
	}
	var v *viewer
	start := func() string {
		link, _ := serveView(t, root)
		v = viewAs(t, link)
		return ""
	}
	counted("the start and the run: a listing and the report", 2, start)
	ask := func(what string, limit int, path string) string {
		return counted(what, limit, func() string { body, _ := v.page(path); return body })
	}
	// The epoch's page reads manifests and two tables; behind it the index is built,
	// and once the list is there, it has been.
	counted("the epoch, with the index of its lists", 14, func() string {
		v.page("/e/1")
		body, _ := v.page("/d/epoch-1%2Fgroup/groups")
		return body
	})
	ask("the run again", 3, "/")
	const at = "/d/epoch-1%2Fgroup"
	groups := ask("groups, the first page of the epoch", 3, at+"/groups")
	ask("groups", 3, at+"/groups?page=2")
	ask("groups, sorted and filtered", 3, at+"/groups?sort=-spread&where="+url.QueryEscape("mean > 0.2"))
	rows := ask("trajectories", 3, at+"/trajectories")
	ask("trajectories, sorted and filtered", 3, at+"/trajectories?sort=-reward&where="+url.QueryEscape("generation > 2"))
	all := groupLink.FindAllStringSubmatch(groups, -1)
	ask("a group", 3, all[1][1])
	ask("another group", 3, all[40][1])
	ask("a trajectory", 3, trajectoryLink.FindStringSubmatch(rows)[1])
	counted("another start", 4, start)
	ask("a link to a group: manifests, light columns, the group", 8, all[1][1])
}

// TestViewOfManyRows opens a dataset of VIEW_ROWS rows without conversations, and bounds
// the memory of the viewer: what it keeps of a row, and what sorting takes besides.
func TestViewOfManyRows(t *testing.T) {
	rows := 100_000
	if n, err := strconv.Atoi(os.Getenv("VIEW_ROWS")); err == nil {
		rows = n
	}
	const perRow, besides, generations = 150, 150_000_000, 10 // bytes
	root := filepath.Join(t.TempDir(), "run")
	group := make([]formats.Trajectory, generations)
	err := storeRollout(t.Context(), filepath.Join(root, "epoch-0", "rollout"), 0, func(yield func([]formats.Trajectory) bool) {
		for n := range rows / generations {
			example := fmt.Sprintf("example-%07d", n)
			for g := range group {
				reward := float64((n*31+g*7)%1000) / 1000
				group[g] = formats.Trajectory{TrajectoryID: formats.TrajectoryID("view", example, 0, g), Run: "view", ExampleID: example, Generation: int32(g),
					Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Model: "policy", SampledTokens: int32(n % 4000), Answer: "an answer",
					Reward: &reward, Rewards: []formats.NamedReward{{Name: "exact", Value: &reward, Weight: 1}}}
			}
			if !yield(group) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	link, process := serveView(t, root)
	v := viewAs(t, link)
	const at = "/d/epoch-0%2Frollout"
	for _, path := range []string{"/trajectories", "/trajectories?page=2", "/trajectories?sort=-reward", "/trajectories?sort=-reward&rewards.exact=0&texts=1",
		"/groups?sort=-mean", "/trajectories?where=reward+%3E+0.5", "/t/" + formats.TrajectoryID("view", "example-0000007", 0, 3)} {
		body, took := v.page(at + path)
		t.Logf("%-50s %6d ms", path, took.Milliseconds())
		if path == "/trajectories" && !strings.Contains(strings.ReplaceAll(body, ",", ""), fmt.Sprint(rows)) {
			t.Errorf("the list does not say that it has %d rows", rows)
		}
	}
	used := peakMemory(t, process)
	t.Logf("%d rows: %.0f MB at most, %.0f bytes a row", rows, used, used*1e6/float64(rows))
	if limit := float64(besides+perRow*rows) / 1e6; used > limit {
		t.Errorf("the viewer used %.0f MB for %d rows, more than %.0f", used, rows, limit)
	}
}
