package submit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// careless overwrites what it should only create.
type careless struct{ *storage.Bucket }

func (c careless) Create(ctx context.Context, key string, data []byte) error {
	return c.Write(ctx, key, data)
}

func TestAStoreThatOverwritesIsRefused(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.Ledger = careless{bucket(t, place.Ledger)}
	if e := kind(t, o, fault.Usage); !strings.Contains(e.Error(), "must only be created") {
		t.Error(e)
	}
	if len(server.Batches()) != 0 {
		t.Error("it was sent all the same")
	}
}

// forgetful creates, and loses its answer.
type forgetful struct{ *storage.Bucket }

func (f forgetful) Create(ctx context.Context, key string, data []byte) error {
	if err := f.Bucket.Create(ctx, key, data); err != nil {
		return err
	}
	return fmt.Errorf("create %q: connection reset", key)
}

func TestALostAnswerOfTheStoreIsNoLostClaim(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.Ledger = forgetful{bucket(t, place.Ledger)}
	completes(t, o)
	if server.Jobs() != 1 {
		t.Errorf("%d jobs", server.Jobs())
	}
}
