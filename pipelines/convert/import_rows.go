package convert

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// each converts the records of every file, concurrently, and calls use for each
// of them in order. broken is called when a file cannot be read to its end; its
// nil goes on with the next file. account gets the members of all records.
func (o *ImportOptions) each(ctx context.Context, use func(file int, p *parsed) error, broken func(file int, err error) error,
	account *importers.Account) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	todo, ordered := make(chan *batch, workers), make(chan *batch, 4*workers)
	memory := semaphore.NewWeighted(inWork)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(ordered)
		defer close(todo)
		for i := range o.Files {
			if !o.cut(ctx, i, memory, todo, ordered) {
				return
			}
		}
	})
	accounts := make([]importers.Account, workers)
	for i := range workers {
		go func() { // not waited for: one record may take long, and only its batch and account are touched
			h := &hasher{}
			for b := range todo {
				o.convert(b, h, &accounts[i])
				close(b.done)
			}
		}()
	}
	defer running.Wait()
	defer cancel()
	for b := range ordered {
		if b.done != nil {
			select {
			case <-b.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for i := range b.parsed {
			if err := use(b.file, &b.parsed[i]); err != nil {
				return err
			}
		}
		memory.Release(b.held)
		if b.err != nil {
			if err := broken(b.file, b.err); err != nil {
				return err
			}
		}
	}
	for i := range accounts { // whose batches are done
		account.Merge(&accounts[i])
	}
	return ctx.Err()
}
