package submit_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestASubmissionAndItsReceipt(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.Run = "" // the rows say which
	result := completes(t, o)
	r := result.Receipt
	if r.Epoch != 0 || r.Run != "run" || r.Groups != 3 || r.Trajectories != 12 || r.Tokens != 24 || *r.StepBefore != 0 || *r.StepAfter != 1 ||
		r.Policy == nil || r.Policy.Version != 1 || r.Policy.Model != "trainer_run" || len(r.MetricSteps) != 3 || r.Metrics["loss"] != 0.031 ||
		r.FinishedAt == nil {
		t.Errorf("%+v", r)
	}
	again := completes(t, o)
	if diff := cmp.Diff(r, again.Receipt); diff != "" || !again.Attached || !again.UpToDate {
		t.Error(diff)
	}
	os.RemoveAll(place.Out)
	if moved := completes(t, o); !moved.Attached || !moved.Receipt.StartedAt.Equal(r.StartedAt) {
		t.Errorf("%+v", moved.Receipt)
	}
	if stored, err := submit.ReadReceipt(t.Context(), o.Receipt); err != nil || stored.Key != r.Key {
		t.Errorf("%+v, %v", stored, err)
	}
	if n := len(server.Batches()); n != 1 {
		t.Errorf("%d batches", n)
	}
	receipt, _ := os.ReadFile(place.Out + "/" + receipts.File)
	if all := ledgerText(t, place.Ledger) + string(receipt); strings.Contains(all, "hush") {
		t.Error("a record holds the key")
	}
}

func TestLostLedgerNeedsPerson(t *testing.T) {
	for _, trained := range []bool{true, false} {
		server, place := place(t, arttest.Faults{})
		o := options(t, place)
		completes(t, o)
		os.RemoveAll(place.Ledger + "/.rollmill")
		if e := kind(t, o, fault.Person); !strings.Contains(e.Error(), "the receipt says that the batch was completed") ||
			!strings.Contains(fault.HintOf(e), "--assume-trained") || server.Jobs() != 1 {
			t.Errorf("%v; %s; %d jobs", e, fault.HintOf(e), server.Jobs())
		}
		settled, want := o, 2
		if settled.AssumeTrained, settled.Resubmit = trained, !trained; trained {
			want = 1
		}
		completes(t, settled)
		if r := completes(t, o); !r.Attached || server.Jobs() != want {
			t.Errorf("%+v, %d jobs", r, server.Jobs())
		}
	}
}

func TestAnEmptyBatchSendsNothing(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.In.URI = curated(t, t.TempDir()+"/empty")
	o.Policy = &receipts.Policy{URL: "http://engine/v1", Model: "m", Version: 7}
	var log strings.Builder
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	for i := range 2 {
		result, err := submit.Run(t.Context(), o)
		if !strings.Contains(log.String(), "level=WARN msg=\"nothing is submitted") {
			t.Errorf("log %q", log.String())
		}
		if err != nil || result.Receipt.State != receipts.JobNothing || *result.Receipt.Policy != *o.Policy || result.Attached != (i == 1) {
			t.Errorf("%+v, %v", result, err)
		}
	}
	if calls := server.Calls(); len(calls) != 0 {
		t.Errorf("the trainer was asked: %v", calls)
	}
	o.Policy, o.Out = nil, t.TempDir()
	o.Receipt = bucket(t, o.Out)
	result, err := submit.Run(t.Context(), o)
	if err != nil || result.Receipt.Policy == nil || result.Receipt.Policy.Model != "trainer_run" {
		t.Errorf("%+v, %v", result.Receipt, err)
	}
}

func TestAnotherBatchesReceiptIsNotReplaced(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	o := options(t, place)
	completes(t, o)
	o.In.URI = curated(t, t.TempDir()+"/other", backendtest.Group(5), backendtest.Group(6))
	if e := kind(t, o, fault.Usage); !strings.Contains(fault.HintOf(e), "--overwrite") {
		t.Error(fault.HintOf(e))
	}
	o.Overwrite, o.Run = true, "another"
	o.Newer = func(context.Context) (bool, error) { return true, nil }
	if e := kind(t, o, fault.Usage); !strings.Contains(e.Error(), "after this command began") {
		t.Error(e)
	}
	o.Newer = nil
	completes(t, o)
}

// TestAReceiptThatArrivesMeanwhileIsKept gives --out the receipt of another batch
// while this one is trained. The next run, with another --out, does not train again.
func TestAReceiptThatArrivesMeanwhileIsKept(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	completes(t, o)
	o.Overwrite, o.Run = true, "another"
	o.In.URI = curated(t, t.TempDir()+"/other", backendtest.Group(5), backendtest.Group(6))
	third := &receipts.Receipt{Format: receipts.Format, Key: "third", Curated: "third"}
	o.Newer = func(ctx context.Context) (bool, error) { // after it looked, before it trains
		return false, submit.WriteReceipt(ctx, o.Receipt, third)
	}
	if e := kind(t, o, fault.Usage); !strings.Contains(fault.HintOf(e), "another --out") {
		t.Error(fault.HintOf(e))
	}
	if there, err := submit.ReadReceipt(t.Context(), o.Receipt); err != nil || there.Key != third.Key {
		t.Errorf("%+v, %v", there, err)
	}
	trained := len(server.Batches())
	o.Out = t.TempDir()
	o.Receipt = bucket(t, o.Out)
	o.Newer = nil
	completes(t, o)
	if again := len(server.Batches()); again != trained {
		t.Errorf("trained %d times, then %d", trained, again)
	}
}

func TestPreparedPolicyIsKept(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	first, err := submit.Prepare(t.Context(), o)
	if err != nil || first.Receipt.State != receipts.JobPrepared || first.Receipt.Policy.Model != "trainer_run" {
		t.Fatalf("%+v, %v", first.Receipt, err)
	}
	again, err := submit.Prepare(t.Context(), o)
	if err != nil || !again.UpToDate || len(server.Bodies("/_prepare_backend_for_training")) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}
