package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/s3test"
)

// storedBig writes one part with groups of 8, large enough to be read in pieces.
func storedBig(t *testing.T, uri string, groups int) int64 {
	t.Helper()
	shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	for group := range randomtest.Trajectories(5, randomtest.Options{Groups: groups, Generations: 8, Messages: 6, SampledTokens: 400, PromptTokens: 200}) {
		if err := table.Write(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	opened, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for _, p := range opened.Parts {
		bytes += p.Bytes
	}
	if len(opened.Parts) != 1 {
		t.Fatalf("%d parts", len(opened.Parts))
	}
	return bytes
}

// TestStoreRequestsOfEachStage bounds the requests of each stage to an object
// store for one shard of one part. pipelines/scaling.md shows the same bounds.
func TestStoreRequestsOfEachStage(t *testing.T) {
	s := s3test.Start(t)
	at := func(stage string) string { return s.URI("runs/bill/" + stage) }
	whole := storedBig(t, at("rollout"), 512)
	page, err := os.ReadFile("../../pipelines/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	engine, examples := newEngine(t)
	// The number of requests for a journal's segments, and how often submit reads
	// its attempt again, depend on time. They are counted separately.
	var segments, looks atomic.Int64
	s.OnRequest(func(r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/journal"):
			segments.Add(1)
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/taken.json"):
			looks.Add(1)
		}
	})
	const (
		everyLook = 7 // requests: each record of an attempt, and a check for a later one
		minLooks  = 2 // before the first group, and before an existing file is replaced
	)
	for _, c := range []struct {
		args     []string
		requests int     // at most
		listings int     // of them
		share    float64 // of the wide part's bytes that may be read
	}{
		{[]string{"rollout", "--examples", examples, "--url", engine + "/v1", "--model", "rollmill/sandbox", "--out", at("played")}, 29, 9, 0.05},
		{[]string{"score", "--in", at("rollout"), "--out", at("score"), "--reward", "long=expr:len(answer) / 1000"}, 18, 4, 0.15},
		{[]string{"group", "--in", at("score"), "--out", at("group")}, 22, 5, 0.04},
		{[]string{"curate", "--in", at("group"), "--out", at("curate"), "--sample-groups", "0.3"}, 34, 5, 1.15},
		// 14 of them in two looks at the ledger: a submitter that was treated as dead sends nothing
		{[]string{"submit", "--in", at("curate"), "--out", at("submit"), "--backend", "file", "--kinds", "art"}, 43, 0, 0.70},
		// Up to date. The listing finds files that a killed or losing writer left
		// next to the dataset; the next run removes them.
		{[]string{"score", "--in", at("rollout"), "--out", at("score"), "--reward", "long=expr:len(answer) / 1000"}, 4, 1, 0.01},
	} {
		if row := fmt.Sprintf("| %s | %d | %d | %.0f %% |", c.args[0], c.requests, c.listings, 100*c.share); !strings.Contains(string(page), row) {
			t.Errorf("the page on scaling has no row %q", row)
		}
		s.Reset()
		segments.Store(0)
		looks.Store(0)
		if code, _, stderr := rollmill(t, c.args...); code != 0 {
			t.Fatalf("%s: exit code %d:\n%s", c.args[0], code, stderr)
		}
		got := s.Counts()
		share := float64(got.BytesOut) / float64(whole)
		requests := got.Requests() - int(segments.Load()) - everyLook*max(0, int(looks.Load())-minLooks)
		t.Logf("%-8s %3d requests %+v, %.1f %% of the wide part read", c.args[0], requests, got, 100*share)
		if requests > c.requests || got.List > c.listings || share > c.share {
			t.Errorf("%s: %d requests, %d of them listings, and %.2f of the part, at most %d, %d and %.2f", c.args[0], requests, got.List, share, c.requests,
				c.listings, c.share)
		}
	}
}
