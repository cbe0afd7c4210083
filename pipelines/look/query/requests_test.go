package query

import (
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// TestRequests counts the requests to a bucket: some for the index, then none for a
// page of a list, and two for a trajectory or a group of large rows, whose pages are in
// several columns. It also counts rounds, which is how many of them follow one another.
func TestRequests(t *testing.T) {
	server := s3test.Start(t)
	e := &epoch{root: server.URI("run/epoch-3")}
	e.write(t, randomtest.Options{Groups: 300, Failures: 0.1, Epoch: 3})
	rounds := countingtest.Rounds{Latency: 20 * time.Millisecond}
	ctx := storage.Wrapping(t.Context(), rounds.Wrap)
	ask := func(what string, maxRequests, maxRounds int, f func() error) {
		t.Helper()
		server.Reset()
		before, made := rounds.Count()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		after, all := rounds.Count() // the store may still answer what was asked for ahead before this
		t.Logf("%s: %d requests in %d rounds, %d bytes", what, all-made, after-before, server.Counts().BytesOut)
		if all-made > maxRequests || after-before > maxRounds {
			t.Errorf("%s: %d requests in %d rounds, more than %d in %d", what, all-made, after-before, maxRequests, maxRounds)
		}
	}
	d, err := dataset.Open(ctx, storage.Join(e.root, "group"), dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the rollout has %d bytes", built(t, ctx, storage.Join(e.root, "rollout")).From.Base.Bytes)
	cache := NewCache(ctx, 1<<30, func(*dataset.Dataset) string { return "" })
	var x *Index
	ask("the index: two manifests, a listing, and the light columns of three tables", 7, 5, func() (err error) {
		x, _, err = cache.Index(ctx, d)
		return err
	})
	ask("the first page of groups", 0, 0, func() error { return second(x.GroupList().Page(ctx, Query{Order: Order{"spread", true}})) })
	ask("trajectories", 0, 0, func() error {
		return second(x.Trajectories().Page(ctx, Query{Where: "reward > 0.5", Order: Order{"sampled_tokens", true}, Page: 3}))
	})
	ask("a page by the answers", 3, 3, func() error { return second(x.Trajectories().Page(ctx, Query{Where: "answer contains 'e'"})) })
	ask("a trajectory", 3, 1, func() error { return second(x.Trajectory(ctx, e.rows[777].TrajectoryID)) })
	ask("a group", 3, 1, func() error { return second(x.Records(ctx, x.Members(e.members[777].GroupID))) })
}
