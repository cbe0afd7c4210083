package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// attempts is how often an operation on an object store is tried. Within each
// attempt the client library repeats a request a few times itself.
const attempts = 5

var firstPause = 100 * time.Millisecond // after an attempt; tests shorten it

// A store that accepts a connection and then does not respond would block for
// ever, because no client library has a limit of its own. So each request has a
// time limit that depends on the bytes that it transfers.
var patience = 2 * time.Minute // in addition to the time for the bytes; tests shorten it

const slowest = 256 << 10 // bytes a second

// request is the context of one request, which ends when its time is over.
type request struct {
	context.Context
	timer *time.Timer // nil on a local disk and in memory
}

// moves extends the request's time, from now on, for this many bytes.
func (r request) moves(bytes int64) {
	if r.timer != nil {
		r.timer.Reset(patience + time.Duration(bytes/slowest)*time.Second)
	}
}

var errSilent = fmt.Errorf("%w: the store did not answer in time", ErrTemporary)

func inTime(ctx context.Context, f func(request) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	defer timer.Stop()
	err := f(request{ctx, timer})
	if err != nil && context.Cause(ctx) == errSilent {
		return errSilent // clients hide it behind a secondary error
	}
	return err
}

// retry repeats f while it fails temporarily, if the bucket is in an object
// store. Each call ends with the request that it is given.
func (b *Bucket) retry(ctx context.Context, f func(request) error) error {
	if b.far == nil {
		return f(request{Context: ctx})
	}
	_, err := fault.Retry(ctx, fault.Policy{Tries: attempts, First: firstPause, Most: 5 * time.Second}, func() (struct{}, error) {
		err := inTime(ctx, f) // the time limit of one try
		if err != nil && kindOf(err) != ErrTemporary {
			err = fault.Permanent(err)
		}
		return struct{}{}, err
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // clients hide it behind a secondary error
	}
	return err
}
