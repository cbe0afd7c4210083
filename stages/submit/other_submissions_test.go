package submit_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// listed makes a bucket's names known.
func listed(b *storage.Bucket) submit.Keys {
	return func(ctx context.Context, prefix string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for o, err := range b.List(ctx, prefix) {
				if !yield(o.Key, err) {
					return
				}
			}
		}
	}
}

// another is the same batch, for another trainer, by the same ledger.
func another(t *testing.T, o order) (*arttest.Server, submit.Options) {
	t.Helper()
	server, place := place(t, arttest.Faults{})
	place.In, place.Ledger = o.In, o.Ledger
	opts := options(t, place)
	opts.Keys = listed(bucket(t, o.Ledger))
	return server, opts
}

func TestABatchThatAnotherTrainerHasHadNeedsAPerson(t *testing.T) {
	_, first := place(t, arttest.Faults{})
	one := options(t, first)
	one.Keys = listed(bucket(t, first.Ledger))
	completes(t, one)
	server, two := another(t, first)
	for _, dry := range []bool{true, false} {
		two.DryRun = dry
		if e := kind(t, two, fault.Person); !strings.Contains(e.Error(), "submitted to another trainer before: art at") ||
			!strings.Contains(e.Error(), "(completed, submission ") || !strings.Contains(fault.HintOf(e), "--allow-other-trainer") {
			t.Errorf("%v; %s", e, fault.HintOf(e))
		}
	}
	if len(server.Batches()) != 0 {
		t.Error("it was sent")
	}
	if again := completes(t, one); !again.Attached {
		t.Error("the first one is no longer attached to")
	}
	two.AllowOther = true
	completes(t, two)
	if !strings.Contains(ledgerText(t, first.Ledger), `"elsewhere": [`) {
		t.Error("the ledger does not say that it was meant")
	}
}

func TestSubmissionWithoutEffectIsIgnored(t *testing.T) {
	for name, spoil := range map[string]arttest.Faults{"refused": {TrainStatus: 422}, "untrained": {Untrainable: true}} {
		t.Run(name, func(t *testing.T) {
			_, first := place(t, spoil)
			kind(t, options(t, first), fault.Failed)
			_, two := another(t, first)
			completes(t, two)
		})
	}
}

// TestFilesDoNotTrain: the same batch goes to files and to a trainer.
func TestFilesDoNotTrain(t *testing.T) {
	_, first := place(t, arttest.Faults{})
	files := func() submit.Options {
		o := options(t, first)
		o.Keys, o.Out = listed(bucket(t, first.Ledger)), t.TempDir()
		o.Receipt = bucket(t, o.Out)
		b := bucket(t, o.Out)
		tr, err := file.New(file.Config{},
			backends.Place{URI: o.Out, Read: b.Read, Begin: func(ctx context.Context) (backends.Draft, error) { return b.Draft(ctx) }})
		if err != nil {
			t.Fatal(err)
		}
		o.Trainer = tr
		return o
	}
	completes(t, files())
	art := options(t, first)
	art.Keys = listed(bucket(t, first.Ledger))
	completes(t, art)
	late := files()
	late.Epoch = 9 // they may be as old as they are
	completes(t, late)
}

func TestTheReceiptNamesTargetAndLedger(t *testing.T) {
	_, first := place(t, arttest.Faults{})
	o := options(t, first)
	o.LedgerURI = "s3://ledgers/here"
	completes(t, o)
	r, err := submit.ReadReceipt(t.Context(), o.Receipt)
	if err != nil || r.Target == nil || *r.Target != o.Trainer.Target() || r.Ledger != "s3://ledgers/here" || r.Resubmit != "" {
		t.Errorf("%+v, %v", r, err)
	}
	o.Resubmit = true
	if r := completes(t, o).Receipt; r.Resubmit != "attempt 1, which was "+receipts.JobCompleted {
		t.Errorf("%q", r.Resubmit)
	}
	if data, err := os.ReadFile(filepath.Join(first.Out, receipts.File)); err != nil || !strings.Contains(string(data), `"resubmit": "attempt 1`) {
		t.Errorf("%s, %v", data, err)
	}
}
