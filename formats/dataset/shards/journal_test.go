package shards

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
)

func journal(t *testing.T, uri string, spec manifest.Spec, o Options) *journals.Journal[formats.Trajectory] {
	t.Helper()
	s, err := Begin(context.Background(), uri, spec, o)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journals.Open[formats.Trajectory](context.Background(), s.Journal())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func rank(r *formats.Trajectory) (int64, error) {
	return int64(r.ExampleID[3]-'0')*10 + int64(r.Generation), nil
}

func TestJournalOutlivesItsProcess(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		j := journal(t, uri, wideSpec(), Options{})
		var wait sync.WaitGroup
		for e := range 6 { // several at once
			wait.Go(func() {
				if err := j.Append(ctx, group(e, 3)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		again := journal(t, uri, wideSpec(), Options{})
		n := 0
		for _, err := range again.Rows(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 18 {
			t.Errorf("%d rows of 18", n)
		}
		for _, other := range []*journals.Journal[formats.Trajectory]{
			journal(t, uri, wideSpec(), Options{Shard: 1, Of: 2}),
			journal(t, uri, manifest.Spec{Stage: "rollout", Version: 2}, Options{}),
		} {
			for range other.Rows(ctx) {
				t.Fatal("another shard's or identity's rows")
			}
		}
		write(ctx, t, uri, wideSpec(), Options{}, 6)
		for _, k := range keys(t, uri) {
			if strings.Contains(k, "journal") {
				t.Errorf("%q is left after the commit", k)
			}
		}
	})
}

func TestJournalIsSorted(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		j := journal(t, uri, wideSpec(), Options{})
		var rows []formats.Trajectory
		for e := range 6 {
			rows = append(rows, group(e, 3)...)
		}
		r := rand.New(rand.NewPCG(1, 1))
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		for some := range slices.Chunk(rows, 4) {
			if err := j.Append(ctx, some); err != nil {
				t.Fatal(err)
			}
		}
		// A second live owner finished some rows too, otherwise.
		rival := journal(t, uri, wideSpec(), Options{})
		late := group(2, 3)
		for i := range late {
			late[i].Messages[1].Content = "later"
		}
		if err := rival.Append(ctx, late); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for group, err := range rival.Sorted(ctx, rank) {
			if err != nil || len(group) != 1 {
				t.Fatal(len(group), err)
			}
			if group[0].Messages[1].Content == "later" {
				t.Error("the later of two rows was taken")
			}
			ids = append(ids, group[0].TrajectoryID)
		}
		var want []string
		for e := range 6 {
			for _, r := range group(e, 3) {
				want = append(want, r.TrajectoryID)
			}
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%v, not %v", ids, want)
		}
		n := 0
		for group, err := range rival.Sorted(ctx, func(r *formats.Trajectory) (int64, error) { return int64(r.ExampleID[3]), nil }) {
			if err != nil || len(group) != 3 {
				t.Fatalf("a group of equal rank has %d rows, %v", len(group), err)
			}
			n++
		}
		if n != 6 {
			t.Errorf("%d groups", n)
		}
	})
}

func TestDamagedSegmentsAreNamed(t *testing.T) {
	ctx := context.Background()
	places(t, func(t *testing.T, uri string) {
		j := journal(t, uri, wideSpec(), Options{})
		for e := range 2 {
			if err := j.Append(ctx, group(e, 3)); err != nil {
				t.Fatal(err)
			}
		}
		b, err := storage.Open(ctx, uri)
		if err != nil {
			t.Fatal(err)
		}
		key := keys(t, uri)[1]
		data, err := b.Read(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Write(ctx, key, data[:len(data)/2]); err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, err := range journal(t, uri, wideSpec(), Options{}).Sorted(ctx, rank) {
			failed = err
		}
		invalid(t, failed, key)
		if err := b.Write(ctx, strings.Replace(key, "00000001-", "strange-", 1), data); err != nil {
			t.Fatal(err)
		}
		s, err := Begin(ctx, uri, wideSpec(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = journals.Open[formats.Trajectory](ctx, s.Journal())
		invalid(t, err, "strange-", "not a journal segment")
	})
}
