package shards

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

// The manifest of a thin dataset says that its base is at another endpoint or
// in another bucket: no request is sent there unless the context names the
// place.
func TestBaseInAnotherStoreIsNotRead(t *testing.T) {
	ctx := context.Background()
	here, elsewhere := s3test.Start(t), s3test.Start(t)
	var asked atomic.Int64
	elsewhere.OnRequest(func(*http.Request) { asked.Add(1) })
	write(ctx, t, elsewhere.URI("run/rollout"), wideSpec(), Options{}, 3)
	base := open(t, elsewhere.URI("run/rollout"))
	for name, place := range map[string]string{"in a store": here.URI("run/score"), "on disk": filepath.Join(t.TempDir(), "score")} {
		t.Run(name, func(t *testing.T) {
			thin := writeThin(t, base, place, 1)
			if !strings.Contains(thin.Base.URI, "endpoint=") {
				t.Fatal("the manifest does not name the endpoint:", thin.Base.URI)
			}
			asked.Store(0)
			_, err := thin.OpenBase(ctx)
			invalid(t, err, thin.URI(), "run/rollout")
			if said := (*fault.Error)(nil); !errors.As(err, &said) || !strings.Contains(fault.HintOf(said), "--base") {
				t.Errorf("%#v", err)
			}
			_, err = thin.OpenRef(ctx, thin.Inputs[0])
			invalid(t, err, "another store")
			if n := asked.Load(); n > 0 {
				t.Errorf("%d requests were made there", n)
			}
			back, err := thin.OpenBase(dataset.WithBases(ctx, []string{elsewhere.URI("run/rollout")}))
			if err != nil || back.Identity != base.Identity {
				t.Error(err)
			}
		})
	}
	relative := open(t, here.URI("run/score"))
	relative.Base.URI = "../rollout?endpoint=" + elsewhere.URL
	asked.Store(0)
	if _, err := relative.OpenBase(ctx); err == nil || asked.Load() > 0 {
		t.Errorf("a query in a relative place: %v, %d requests", err, asked.Load())
	}
	write(ctx, t, here.URI("other/rollout"), wideSpec(), Options{}, 2)
	if _, err := open(t, here.URI("run/score")).OpenBase(dataset.WithBases(ctx, []string{here.URI("other/rollout")})); err == nil {
		t.Error("another dataset was taken for the base")
	}
}

// A part of the base is replaced by another one of the same size.
func TestABasePartReplacedByOneOfTheSameSizeIsNoticed(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	write(ctx, t, filepath.Join(dir, "rollout"), wideSpec(), Options{}, 3)
	base := open(t, filepath.Join(dir, "rollout"))
	thin := writeThin(t, base, filepath.Join(dir, "score"), 1)
	path := filepath.Join(dir, "rollout", base.Parts[0].Name)
	data, err := os.ReadFile(path)
	check(t, err)
	data = []byte(strings.Replace(string(data), "rollmill version", "rollmill Version", 1)) // in the footer
	check(t, os.WriteFile(path, data, 0o666))
	back, err := thin.OpenBase(ctx)
	check(t, err)
	_, err = readIDsOf(back)
	invalid(t, err, storage.Join(back.URI(), base.Parts[0].Name), "footer has digest")
}

func readIDsOf(d *dataset.Dataset) (n int, err error) {
	type id struct {
		ID string `parquet:"trajectory_id"`
	}
	rows, err := dataset.ReadAll[id](context.Background(), d, "", d.All())
	return len(rows), err
}
