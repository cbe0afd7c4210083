package query

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
)

// TestCache checks that an index is built once for all who ask, again when a dataset
// lastWritten it changes, and leaves for others when memory is short.
func TestCache(t *testing.T) {
	var reads countingtest.Counter
	ctx := storage.Wrapping(t.Context(), reads.Wrap)
	var all []*dataset.Dataset
	for n := range 3 {
		e := &epoch{root: fmt.Sprintf("mem://index-cache/epoch-%d", n)}
		e.write(t, randomtest.Options{Groups: 40, Messages: 3, SampledTokens: 20, PromptTokens: 20, Epoch: n})
		d, err := dataset.Open(ctx, storage.Join(e.root, "rollout"), dataset.OpenOptions{IgnoreGates: true})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	lastWritten := "one"
	c := NewCache(ctx, 1<<30, func(*dataset.Dataset) string { return lastWritten })
	indexOf := func(d *dataset.Dataset) *Index {
		t.Helper()
		x, p, err := c.Index(ctx, d)
		if err != nil || p.Read != p.Rows {
			t.Fatal(p, err)
		}
		return x
	}
	reads.Reset()
	first := indexOf(all[0])
	cost := reads.Ops("range")
	reads.Reset()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { indexOf(all[1]) })
	}
	wait.Wait()
	if n := reads.Ops("range"); n != cost {
		t.Errorf("%d reads for eight who ask, %d for one", n, cost)
	}
	reads.Reset()
	if indexOf(all[0]) != first || reads.Ops("range") != 0 {
		t.Errorf("it was built again: %s", &reads)
	}
	if lastWritten = "another"; indexOf(all[0]) == first {
		t.Error("it was not built again")
	}

	c.limit = first.Bytes() + first.Bytes()/2
	second := indexOf(all[2])
	if indexOf(all[2]) != second {
		t.Error("the one used last was removed")
	}
	reads.Reset()
	if indexOf(all[0]); reads.Ops("range") == 0 || reads.Ops("range") > cost { // its footers were kept
		t.Errorf("%d reads of an index that had to leave, %d the first time", reads.Ops("range"), cost)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	lastWritten = "a third"
	if _, p, err := c.Index(ended, all[1]); !errors.Is(err, context.Canceled) && p.Read != p.Rows {
		t.Errorf("%+v, %v", p, err)
	}
	indexOf(all[1]) // the building went on
}
