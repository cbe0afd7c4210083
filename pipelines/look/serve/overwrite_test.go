package serve

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// attemptsOf returns n trajectories of one run.
func attemptsOf(run string, n int) []formats.Trajectory {
	var rows []formats.Trajectory
	for i := range n {
		example := fmt.Sprintf("%s-ex-%03d", run, i/4)
		rows = append(rows, formats.Trajectory{TrajectoryID: formats.TrajectoryID(run, example, 0, i%4), Run: run, ExampleID: example, Generation: int32(i % 4),
			Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Answer: run, StartedAt: 1, FinishedAt: time.Now().UnixMicro()})
	}
	return rows
}

// started begins a rollout and journals its rows.
func started(t *testing.T, uri, run string, n int) *shards.Shard {
	t.Helper()
	s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Params: map[string]any{"run": run}},
		shards.Options{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journals.Open[formats.Trajectory](t.Context(), s.Journal())
	if err == nil {
		err = j.Append(t.Context(), attemptsOf(run, n))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAnOverwrittenRolloutIsNotMixed replaces a rollout that a viewer watches, twice:
// before it is complete, and after.
func TestAnOverwrittenRolloutIsNotMixed(t *testing.T) {
	root := t.TempDir()
	uri := storage.Join(root, "epoch-0/rollout")
	started(t, uri, "first", 24)
	s := serve(t, root)
	const live = "/d/epoch-0%2Frollout/live"
	if page := s.page(live); !strings.Contains(page, "first-ex-") || !strings.Contains(page, "<dd>24</dd>") {
		t.Fatalf("the first rollout is not shown:\n%s", page)
	}
	second := started(t, uri, "second", 8)
	if page := s.page(live); strings.Contains(page, "first-ex-") || !strings.Contains(page, "second-ex-") || !strings.Contains(page, "<dd>8</dd>") {
		t.Errorf("two rollouts are mixed:\n%s", page)
	}
	finish := func(shard *shards.Shard, run string, n int) {
		if err := shards.NewTable[formats.Trajectory](shard, "", -1).Write(t.Context(), attemptsOf(run, n)); err != nil {
			t.Fatal(err)
		}
		if r, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil || r.Sealed == nil {
			t.Fatal(r, err)
		}
	}
	finish(second, "second", 8)
	s.until("/d/epoch-0%2Frollout", "8 rows")
	const list = "/d/epoch-0%2Frollout/trajectories"
	if page := s.page(list); !strings.Contains(page, "second-ex-") || strings.Contains(page, "first-ex-") {
		t.Errorf("two rollouts are mixed:\n%s", page)
	}
	finish(started(t, uri, "third", 12), "third", 12)
	for _, path := range []string{"/d/epoch-0%2Frollout", list, "/d/epoch-0%2Frollout/t/" + attemptsOf("third", 12)[5].TrajectoryID} {
		code, page := s.get(path)
		if code != 200 || strings.Contains(page, "second-ex-") {
			t.Errorf("%s after the dataset was replaced: %d\n%s", path, code, page)
		}
	}
	if page := s.page(list); !strings.Contains(page, "third-ex-") {
		t.Errorf("the third rollout is not shown:\n%s", page)
	}
}

// TestAPageOutOfRange asks for pages that no list has.
func TestAPageOutOfRange(t *testing.T) {
	root := t.TempDir()
	started(t, storage.Join(root, "epoch-0/rollout"), "first", 24)
	s := serve(t, root)
	for _, page := range []string{"2147483647", "9223372036854775807", "9223372036854775808", "-1", "-9223372036854775808", "184467440737095517", "1e3",
		"x", "%00"} {
		for _, path := range []string{"/e/0/live", "/d/epoch-0%2Frollout/live", "/e/" + page, "/e/" + page + "/live"} {
			if code, body := s.get(path + "?page=" + page); code >= 500 {
				t.Errorf("%s?page=%s: %d\n%s", path, page, code, body)
			}
		}
	}
}

// TestAPanicIsAnAnswer: a page that panics is an error's page.
func TestAPanicIsAnAnswer(t *testing.T) {
	defer func(was []route) { routes = was }(routes)
	routes = append(routes, route{path: "/d/{key}/panics", name: "dataset", page: func(*Server, *http.Request) (any, error) {
		panic(errors.New("<b>out of range"))
	}})
	root := t.TempDir()
	started(t, storage.Join(root, "epoch-0/rollout"), "first", 4)
	if code, page := serve(t, root).get("/d/x/panics"); code != 500 || !strings.Contains(page, "&lt;b&gt;out of range") {
		t.Errorf("%d\n%s", code, page)
	}
}

// TestForgottenListing builds an index before the listing that was forgotten is taken
// again.
func TestForgottenListing(t *testing.T) {
	root := t.TempDir()
	shard := started(t, storage.Join(root, "epoch-0/rollout"), "first", 8)
	if err := shards.NewTable[formats.Trajectory](shard, "", -1).Write(t.Context(), attemptsOf("first", 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	s := serve(t, root)
	f, err := s.server.lookup(t.Context(), "epoch-0/rollout")
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.server.open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	s.server.datasets.Forget()
	if x, _, err := s.server.indexes.Index(t.Context(), d); err != nil || x.Rows != 8 {
		t.Error(x, err)
	}
}
