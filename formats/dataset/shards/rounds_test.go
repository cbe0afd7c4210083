package shards

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// slowly returns a context in which a store takes some time for each request,
// and what counts how many of them follow one another.
func slowly(ctx context.Context) (context.Context, *countingtest.Rounds) {
	r := &countingtest.Rounds{Latency: 10 * time.Millisecond}
	if os.Getenv("COUNT") != "" {
		r.Latency = 30 * time.Millisecond
	}
	return storage.Wrapping(ctx, r.Wrap), r
}

// sized returns how many objects a test makes: COUNT, with a store that takes 30 ms
// for each request, else few.
func sized(few int) int {
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil {
		return n
	}
	return few
}

// took logs how many seconds something takes from now on; aim is for a store that
// takes 30 ms for each request.
func took(t *testing.T, aim, what string, args ...any) func() {
	from := time.Now()
	return func() {
		t.Logf("%s: %.2f s (aim: %s)", fmt.Sprintf(what, args...), time.Since(from).Seconds(), aim)
	}
}

func atMost(t *testing.T, r *countingtest.Rounds, rounds, requests int) {
	t.Helper()
	got, all := r.Count()
	t.Logf("%d requests in %d rounds", all, got)
	if got > rounds || all < requests {
		t.Errorf("%d requests follow one another, of %d; at most %d should, of %d or more", got, all, rounds, requests)
	}
}

// Sealing reads the records of all shards, and removes what killed writers left,
// many at once.
func TestSealingReadsRecordsConcurrently(t *testing.T) {
	shards := sized(400)
	uri := memory(t) + "/d"
	for i := range shards - 1 {
		s, err := Begin(t.Context(), uri, wideSpec(), Options{Shard: i, Of: shards})
		if err != nil {
			t.Fatal(err)
		}
		s.ended = true
		if err := s.bucket.Create(t.Context(), s.build.Record(i), recordOfNothing(t, s)); err != nil {
			t.Fatal(err)
		}
		if err := s.bucket.Create(t.Context(), fmt.Sprintf("part-%05d-of-%05d-00000-0000000%d.parquet", i, shards, i%10), nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, rounds := slowly(t.Context())
	done := took(t, "at most 3", "sealing of %d shards, %s a request", shards, rounds.Latency)
	res := write(ctx, t, uri, wideSpec(), Options{Shard: shards - 1, Of: shards}, shards)
	done()
	if res.Sealed == nil || res.Sealed.Rows != 4 {
		t.Fatalf("%+v", res)
	}
	atMost(t, rounds, 100+shards/8, 2*shards)
	if left, err := res.Sealed.Unnamed(t.Context()); len(left) > 0 || err != nil {
		t.Errorf("%d parts are left, %v", len(left), err)
	}
}

func recordOfNothing(t *testing.T, s *Shard) []byte {
	t.Helper()
	m := manifest.Manifest{Format: manifest.Format, Content: manifest.Content{Kind: s.spec.Kind, Schema: schema.Version, Stage: s.spec.Stage, Version: s.spec.Version,
		Identity: s.build.Identity, Shards: s.build.Of, Params: s.spec.Params}}
	data, err := json.Marshal(manifest.Record{Shard: s.shard, Manifest: m})
	check(t, err)
	return data
}

// A journal's segments are read many at once: when a command resumes, and when
// its rows are written in order.
func TestJournalsAreReadConcurrently(t *testing.T) {
	segments := sized(100)
	uri := memory(t) + "/d"
	j := journal(t, uri, wideSpec(), Options{})
	for i := range segments {
		if err := j.Append(t.Context(), []formats.Trajectory{wideRow(i%7, i)}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name, aim string, rows func(ctx context.Context, j *journals.Journal[formats.Trajectory]) int) {
		t.Run(name, func(t *testing.T) {
			ctx, rounds := slowly(t.Context())
			defer took(t, aim, "%s a journal of %d segments, %s a request", name, segments, rounds.Latency)()
			s, err := Begin(ctx, uri, wideSpec(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			again, err := journals.Open[formats.Trajectory](ctx, s.Journal())
			if err != nil {
				t.Fatal(err)
			}
			if n := rows(ctx, again); n != segments {
				t.Errorf("%d rows", n)
			}
			atMost(t, rounds, 35+segments/4, segments)
		})
	}
	read("resume", "at most 10", func(ctx context.Context, j *journals.Journal[formats.Trajectory]) (n int) {
		for _, err := range j.Rows(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	})
	read("write", "none", func(ctx context.Context, j *journals.Journal[formats.Trajectory]) (n int) {
		for rows, err := range j.Sorted(ctx, func(r *formats.Trajectory) (int64, error) { return int64(r.Generation) * 7919 % int64(segments), nil }) {
			if err != nil {
				t.Fatal(err)
			}
			n += len(rows)
		}
		return n
	})
}

// A shard lists neither the segments of others' journals nor, beyond the first
// page, its own for anything but reading them.
func TestListingsDoNotDependOnJournals(t *testing.T) {
	server := s3test.Start(t)
	uri := server.URI("run/d")
	j := journal(t, uri, wideSpec(), Options{Shard: 1, Of: 2})
	var all errgroup.Group
	all.SetLimit(8)
	for i := range storage.PageSize + 100 {
		all.Go(func() error {
			return j.Bucket.Write(t.Context(), fmt.Sprintf("%s%08d-%016x.parquet", j.Folder, i, i), nil)
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	var further atomic.Int64
	server.OnRequest(func(r *http.Request) {
		if r.URL.Query().Has("continuation-token") || r.URL.Query().Has("marker") {
			further.Add(1)
		}
	})
	server.Reset()
	write(t.Context(), t, uri, wideSpec(), Options{Shard: 0, Of: 2}, 4)
	if n := server.Counts().List; n > 6 || further.Load() > 0 {
		t.Errorf("%d listings, %d of further pages", n, further.Load())
	}
}
