package shards

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// someColumns has a few columns of a journalled row.
type someColumns struct {
	TrajectoryID string `parquet:"trajectory_id"`
	Status       string `parquet:"status,dict"`
}

// TestUnderwayShowsWhatIsThere looks at a dataset of three shards: one is finished, one
// has a journal of two segments, one has nothing.
func TestUnderwayShowsWhatIsThere(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		if _, err := seal.LookUnderway(t.Context(), uri); !errors.Is(err, storage.ErrNotExist) {
			t.Errorf("nothing there: %v", err)
		}
		write(t.Context(), t, uri, wideSpec(), Options{Shard: 0, Of: 3}, 6)
		j := journal(t, uri, wideSpec(), Options{Shard: 1, Of: 3})
		j.Expected = 8
		for e := range 2 {
			if err := j.Append(t.Context(), group(e, 3)); err != nil {
				t.Fatal(err)
			}
		}
		var c countingtest.Counter
		ctx := storage.Wrapping(t.Context(), c.Wrap)
		u, err := seal.LookUnderway(ctx, uri)
		if err != nil {
			t.Fatal(err)
		}
		if u.Shards != 3 || len(u.Finished) != 1 || u.Finished[0].Shard != 0 || len(u.Segments) != 2 || u.Changed.IsZero() {
			t.Fatalf("%+v", u)
		}
		m, err := u.Record(ctx, u.Finished[0])
		if err != nil || m.Rows != 8 {
			t.Errorf("%d rows of the finished shard, %v", m.Rows, err)
		}
		ids := map[string]bool{}
		for _, s := range u.Segments {
			rows, err := seal.ReadSegment[someColumns](ctx, u, s)
			if err != nil || s.Shard != 1 {
				t.Fatalf("shard %d, %v", s.Shard, err)
			}
			for _, r := range rows {
				ids[r.TrajectoryID] = true
			}
		}
		if len(ids) != 6 {
			t.Errorf("%d trajectories", len(ids))
		}
		if n, err := u.Expected(ctx, u.Segments[0]); n != 8 || err != nil {
			t.Errorf("%d rows expected, %v", n, err)
		}
		if c.Ops("list") != 1 || c.Written() != 0 || c.Ops("create")+c.Ops("write")+c.Ops("delete")+c.Ops("swap") != 0 {
			t.Errorf("looking is more than one listing and reads: %s", &c)
		}
	})
}

// TestUnderwayOfAnOverwrite shows the run that writes, not the records of another.
func TestUnderwayOfAnOverwrite(t *testing.T) {
	uri := filepath.Join(t.TempDir(), "ds")
	write(t.Context(), t, uri, wideSpec(), Options{}, 2)
	other := manifest.Spec{Stage: "rollout", Version: 2, Kind: schema.KindTrajectories}
	write(t.Context(), t, uri, other, Options{Overwrite: true, Shard: 0, Of: 2}, 4)
	u, err := seal.LookUnderway(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	if u.Shards != 2 || len(u.Finished) != 1 {
		t.Fatalf("%+v", u)
	}
	if m, err := u.Record(t.Context(), u.Finished[0]); err != nil || m.Rows != 8 {
		t.Errorf("%d rows, %v", m.Rows, err)
	}
}

func TestADamagedSegmentIsNamed(t *testing.T) {
	uri := filepath.Join(t.TempDir(), "ds")
	j := journal(t, uri, wideSpec(), Options{})
	if err := j.Append(t.Context(), group(0, 3)); err != nil {
		t.Fatal(err)
	}
	u, err := seal.LookUnderway(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(uri, u.Name, u.Segments[0].Name)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.ReadSegment[someColumns](t.Context(), u, u.Segments[0]); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "journal") {
		t.Errorf("%v", err)
	}
}
