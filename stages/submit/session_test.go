package submit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// options are those of an order, in this process.
func options(t *testing.T, o order) submit.Options {
	t.Helper()
	tr, err := art.New(art.Config{IP: o.Host, Port: o.Port, APIKey: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	return submit.Options{In: stages.Input{URI: o.In}, Out: o.Out, Receipt: bucket(t, o.Out), Ledger: bucket(t, o.Ledger), Trainer: tr, Run: "run",
		PollInterval: time.Millisecond, Stall: o.stall()}
}

func bucket(t *testing.T, uri string) *storage.Bucket {
	t.Helper()
	b, err := storage.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// kind runs submit and wants an error of a kind.
func kind(t *testing.T, o submit.Options, want fault.Kind) *fault.Error {
	t.Helper()
	result, err := submit.Run(t.Context(), o)
	var e *fault.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Fatalf("%v (%+v), want kind %s", err, result.Receipt, want)
	}
	return e
}

func completes(t *testing.T, o submit.Options) submit.Result {
	t.Helper()
	result, err := submit.Run(t.Context(), o)
	if err != nil || result.Receipt.State != receipts.JobCompleted {
		t.Fatalf("%v, %+v", err, result.Receipt)
	}
	return result
}
