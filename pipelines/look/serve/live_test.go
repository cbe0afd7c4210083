package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/live"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// held is an agent that asks the model once. Its attempts at all but the first two
// examples wait until they are let go; every fourth ends with an error.
type held struct {
	let chan struct{} // closed when they are let go
}

func (held) Describe() agents.Description { return agents.Description{Kind: "held"} }

func (held) Close() error { return nil }

func (h held) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	if a.Example.Row > 1 {
		select {
		case <-h.let:
		case <-ctx.Done():
			return agents.Result{}, ctx.Err()
		}
	}
	if a.Generation == 3 {
		return agents.Result{}, &agents.Failure{Class: outcomes.FailTimeout, Err: errors.New("<b>too slow</b>")}
	}
	answer, err := http.Post(a.BaseURL+"/chat/completions", "application/json",
		strings.NewReader(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"play"}]}`, a.Model)))
	if err != nil {
		return agents.Result{}, err
	}
	return agents.Result{}, answer.Body.Close()
}

// begin starts a rollout of n examples with four attempts each, and returns when it
// ended.
func begin(t *testing.T, h held, uri string, n int) <-chan error {
	t.Helper()
	server, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() { _ = server.Serve(ctx, l) }()
	var list []formats.Example
	for i := range n {
		id := fmt.Sprintf("ex-%d", i)
		list = append(list, formats.Example{ID: id, Question: "what?", Row: i, Fields: json.RawMessage(fmt.Sprintf(`{"id":%q,"question":"what?"}`, id))})
	}
	done := make(chan error, 1)
	go func() {
		_, err := rollout.Run(ctx, rollout.Options{
			Out: stages.Output{URI: uri}, Run: "run", Examples: agenttest.Examples(list),
			Resume: rollout.ResumeOff, ExamplesRef: manifest.Ref{URI: "examples.jsonl", Digest: "d1"},
			Generations: 4, Agent: h, Model: "rollmill/sandbox", Endpoints: []string{"http://" + l.Addr().String() + "/v1"}, Concurrency: 4,
			JournalEvery: time.Millisecond, MaxInitialFailures: -1,
		})
		done <- err
	}()
	return done
}

// until asks for a page until it has a text.
func (s *site) until(path, text string) string {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		if code, page := s.get(path); code == 200 && strings.Contains(page, text) {
			return page
		}
		time.Sleep(10 * time.Millisecond) // between requests; the test's own limit ends it
	}
	s.t.Fatalf("%s never has %q", path, text)
	return ""
}

// TestARolloutUnderWayIsShown watches a real rollout: its attempts appear when they are
// journalled, and the page ends with it.
func TestARolloutUnderWayIsShown(t *testing.T) {
	root := t.TempDir()
	uri := filepath.Join(root, "epoch-0", "rollout")
	h := held{make(chan struct{})}
	done := begin(t, h, uri, 10)
	waitFor(t, uri, 8)
	before := tree(t, root)
	s := serve(t, root)
	live := "/d/epoch-0%2Frollout/live"
	if page := s.page("/"); !strings.Contains(page, live) || !strings.Contains(page, "Under way") {
		t.Errorf("the run's page does not lead to the rollout:\n%s", page)
	}
	if page := s.page("/e/0"); !strings.Contains(page, live) {
		t.Error("the epoch's page does not lead to the rollout")
	}
	page := s.page("/e/0/live")
	for _, want := range []string{"<dd>8</dd><dd>20.0 % of 40</dd>", "<dd>2</dd><dd>25.0 %</dd>", ">timeout</a></td><td>2<", `hx-get="` + live + `"`, "ex-0",
		"per minute"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	checkInert(t, live, page)
	attempts := regexp.MustCompile(`href="(/d/epoch-0%2Frollout/t/[0-9a-f]+[^"]*)"`).FindAllStringSubmatch(page, -1)
	if !slices.ContainsFunc(attempts, func(a []string) bool { // some failed before they said anything
		return strings.Contains(s.page(strings.ReplaceAll(a[1], "&amp;", "&")), `class="message`)
	}) {
		t.Errorf("no page of an attempt: %q", attempts)
	}
	if page := s.page(live + "?class=timeout"); strings.Count(page, "failed: timeout") != 2 || strings.Contains(page, "<td>ok</td>") {
		t.Error("the filter by class does not filter")
	}
	if code, _ := s.get(live + "?page=x"); code != 400 {
		t.Errorf("a wrong page: %d", code)
	}
	if page := s.page(live + "?page=7"); strings.Contains(page, "ex-0") {
		t.Error("a page after the last has attempts")
	}
	found := s.page("/search?q=play")
	if !strings.Contains(found, "epoch-0/rollout is not complete: the attempts in its journals were searched") {
		t.Errorf("a search in a rollout under way:\n%s", found)
	}
	hit := regexp.MustCompile(`<a href="(/d/epoch-0%2Frollout/t/[0-9a-f]+)#m0" `).FindStringSubmatch(found)
	if hit == nil || !strings.Contains(s.page(hit[1]), `id="m0"`) {
		t.Errorf("no page of what was found, %q:\n%s", hit, found)
	}
	checkMembers(t, s)
	if after := tree(t, root); after != before {
		t.Errorf("reading changed the run:\n%s\nbefore:\n%s", after, before)
	}
	close(h.let)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if page := s.until(live, "The dataset is complete"); strings.Contains(page, "hx-get") {
		t.Error("the page of a complete dataset still asks")
	}
	if page := s.page("/d/epoch-0%2Frollout"); !strings.Contains(page, "40 rows") {
		t.Errorf("the complete dataset:\n%s", page)
	}
}

// checkMembers checks that a group of a rollout under way opens as a dataset.
func checkMembers(t *testing.T, s *site) {
	t.Helper()
	f, err := s.server.lookup(t.Context(), "epoch-0/rollout")
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.server.snapshot(t.Context(), f, formats.GroupID("ex-1", 0), "")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil || len(rows) != 4 || rows[3].FailureClass != outcomes.FailTimeout || rows[3].Error == "" {
		t.Errorf("%d members, %v", len(rows), err)
	}
	one, err := s.server.snapshot(t.Context(), f, "", rows[2].TrajectoryID)
	if err != nil || one != d {
		t.Errorf("the group of one of its trajectories is another dataset: %v", err)
	}
	for i := range 2 * maxSnapshots {
		uri := fmt.Sprint("mem://snapshots/", i)
		if _, err := s.server.snapshots.Of(uri, func() (*dataset.Dataset, error) { return inMemory(uri, rows) }); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if s.server.snapshots.Each(func(*dataset.Dataset) { n++ }); n != maxSnapshots {
		t.Errorf("%d snapshots are kept", n)
	}
	if _, err := dataset.Open(t.Context(), "mem://snapshots/0", dataset.OpenOptions{}); statusOf(err) != 404 {
		t.Errorf("a snapshot that is not kept: %v", err)
	}
	if _, err := s.server.snapshot(t.Context(), f, "", "nothing"); statusOf(err) != 404 {
		t.Errorf("a trajectory that is not in the journal: %v", err)
	}
	if answer := s.raw("GET /d/epoch-0%2Frollout HTTP/1.1\nHost: 127.0.0.1\nCookie: " + s.cookie() + "\n\n"); answer.StatusCode != 303 ||
		answer.Header.Get("Location") != linkOf(f) {
		t.Errorf("the dataset that is not complete: %d, %q", answer.StatusCode, answer.Header.Get("Location"))
	}
}

// waitFor waits until the journals at a URI have so many rows.
func waitFor(t *testing.T, uri string, rows int64) {
	t.Helper()
	var j live.Journal
	for t.Context().Err() == nil {
		if err := j.Refresh(t.Context(), uri); err == nil && j.Totals().Rows >= rows {
			return
		}
		time.Sleep(time.Millisecond) // between looks; the test's own limit ends it
	}
	t.Fatal("the rollout journals nothing")
}

// tree returns the files below a folder with their sizes and times. Leases are left
// out: their owner renews them.
func tree(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(root, func(name string, i os.FileInfo, err error) error {
		if err == nil && !i.IsDir() && !strings.HasPrefix(i.Name(), "lease-") {
			fmt.Fprintln(&b, name, i.Size(), i.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAPollReadsOnlyWhatIsNew counts the requests of a page about a rollout in a bucket.
func TestAPollReadsOnlyWhatIsNew(t *testing.T) {
	uri := s3test.Start(t).URI("run/epoch-0/rollout")
	shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	writer, err := journals.Open[formats.Trajectory](t.Context(), shard.Journal())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	write := func() {
		n++
		if err := writer.Append(t.Context(),
			[]formats.Trajectory{{TrajectoryID: fmt.Sprint(n), Status: outcomes.StatusOK, StopReason: outcomes.StopDone}}); err != nil {
			t.Fatal(err)
		}
	}
	write()
	write()
	var c countingtest.Counter
	ctx := storage.Wrapping(t.Context(), c.Wrap)
	var j live.Journal
	poll := func(want string) {
		t.Helper()
		c.Reset()
		if err := j.Refresh(ctx, uri); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(c.String(), " B,"); got[:strings.LastIndex(got, ", ")] != want || j.Totals().Rows != int64(n) {
			t.Errorf("%d rows of %d, requests %q, want %q", j.Totals().Rows, n, got, want)
		}
	}
	poll("list 1, open 1, range 1, read 2") // a footer says how many rows the shard will have
	poll("list 1")
	write()
	poll("list 1, read 1")
}
