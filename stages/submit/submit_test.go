package submit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	wire "github.com/rollmill/rollmill/formats/art"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// options are those of an order, in this process.
func options(t *testing.T, o order) submit.Options {
	t.Helper()
	tr, err := art.New(art.Config{IP: o.Host, Port: o.Port, APIKey: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	return submit.Options{In: stages.Input{URI: o.In}, Out: o.Out, Receipt: bucket(t, o.Out), Ledger: bucket(t, o.Ledger), Trainer: tr, Run: "run", Epoch: 3, PollInterval: time.Millisecond}
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
func kind(t *testing.T, o submit.Options, want stages.Kind) *stages.Error {
	t.Helper()
	result, err := submit.Run(t.Context(), o)
	var e *stages.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Fatalf("%v (%+v), want kind %s", err, result.Receipt, want)
	}
	return e
}

func completes(t *testing.T, o submit.Options) submit.Result {
	t.Helper()
	result, err := submit.Run(t.Context(), o)
	if err != nil || result.Receipt.State != formats.JobCompleted {
		t.Fatalf("%v, %+v", err, result.Receipt)
	}
	return result
}

func TestASubmissionAndItsReceipt(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.Run = "" // the rows say which
	result := completes(t, o)
	r := result.Receipt
	if r.Epoch != 3 || r.Run != "run" || r.Groups != 3 || r.Trajectories != 12 || r.Tokens != 24 || *r.StepBefore != 0 || *r.StepAfter != 1 ||
		r.Policy == nil || r.Policy.Version != 1 || r.Policy.Model != "trainer_run" || len(r.MetricSteps) != 3 || r.Metrics["loss"] != 0.031 || r.FinishedAt == nil {
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
	receipt, _ := os.ReadFile(place.Out + "/" + formats.ReceiptFile)
	if all := ledgerText(t, place.Ledger) + string(receipt); strings.Contains(all, "hush") {
		t.Error("a record holds the key")
	}
}

func TestALostLedgerDoesNotTrainAgain(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	completes(t, o)
	os.RemoveAll(place.Ledger + "/.rollmill")
	if again := completes(t, o); !again.Attached || server.Jobs() != 1 {
		t.Errorf("%+v, %d jobs", again, server.Jobs())
	}
}

func TestAnEmptyBatchSendsNothing(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.In.URI = curated(t, t.TempDir()+"/empty")
	o.Policy = &formats.Policy{URL: "http://engine/v1", Model: "m", Version: 7}
	for i := range 2 {
		result, err := submit.Run(t.Context(), o)
		if err != nil || result.Receipt.State != formats.JobNothing || *result.Receipt.Policy != *o.Policy || result.Attached != (i == 1) {
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

func TestADryRunSendsAndRecordsNothing(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.DryRun = true
	result, err := submit.Run(t.Context(), o)
	if err != nil || result.Load.Groups != 3 || result.Load.Tokens != 24 || !strings.Contains(result.Message, "would send 3 groups, 12 trajectories") {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, call := range server.Calls() {
		if !strings.HasPrefix(call, "GET ") {
			t.Errorf("it sent %s", call)
		}
	}
	if _, err := os.Stat(place.Ledger + "/.rollmill"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it left a record")
	}
	o.DryRun = false
	completes(t, o)
	if got := int64(len(server.Batches()[0].Raw)); got != result.Load.Bytes {
		t.Errorf("%d bytes were announced, %d sent", result.Load.Bytes, got)
	}
	o.DryRun = true
	if result, err := submit.Run(t.Context(), o); err != nil || !strings.Contains(result.Message, "nothing would be sent") {
		t.Errorf("%s, %v", result.Message, err)
	}
}

func TestBadRowsAreNamedAndNothingIsSent(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	bad := backendtest.Group(1)
	bad[2].Messages[1].TokenIDs = nil
	flat := backendtest.Group(2)
	for i := range flat {
		flat[i].Reward = flat[0].Reward
	}
	o := options(t, place)
	o.In.URI = curated(t, t.TempDir()+"/bad", backendtest.Group(0), bad, flat)
	for _, dry := range []bool{true, false} {
		o.DryRun = dry
		result, err := submit.Run(t.Context(), o)
		if !errors.Is(err, formats.ErrInvalid) || !strings.Contains(err.Error(), "flat 1, no_token_ids 1") || !strings.Contains(err.Error(), bad[2].TrajectoryID) {
			t.Errorf("%v", err)
		}
		if len(result.Problems) != 2 || result.Failures[wire.NoTokenIDs] != 1 {
			t.Errorf("%+v", result.Problems)
		}
		var hinted interface{ Hint() string }
		if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "vLLM") {
			t.Errorf("hint of %v", err)
		}
	}
	if _, err := os.Stat(place.Ledger + "/.rollmill"); !errors.Is(err, fs.ErrNotExist) || len(server.Batches()) != 0 {
		t.Error("something was begun")
	}
}

func TestALiveOwnerIsLeftAlone(t *testing.T) {
	hold, received := make(chan struct{}), make(chan struct{})
	server, place := place(t, arttest.Faults{Hold: hold, Received: func(string) { close(received) }})
	_, wait := helper(t, place)
	<-received
	if e := kind(t, options(t, place), stages.KindTemporary); !strings.Contains(e.Error(), "is submitting this batch") {
		t.Error(e)
	}
	again := options(t, place)
	again.Resubmit = true
	kind(t, again, stages.KindTemporary)
	close(hold)
	if a := wait(); a.State != formats.JobCompleted || server.Jobs() != 1 {
		t.Errorf("%+v", a)
	}
	if r := completes(t, options(t, place)); !r.Attached {
		t.Error("it was sent again")
	}
}

func TestRacersTrainOnce(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	var all sync.WaitGroup
	for range 8 {
		o := options(t, place)
		all.Go(func() {
			result, err := submit.Run(t.Context(), o)
			var e *stages.Error
			if err == nil && result.Receipt.State == formats.JobCompleted || errors.As(err, &e) && e.Kind == stages.KindTemporary {
				return
			}
			t.Errorf("%+v, %v", result.Receipt, err)
		})
	}
	all.Wait()
	if server.Jobs() != 1 {
		t.Errorf("%d jobs", server.Jobs())
	}
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// sleeper lets the owner sleep with the batch half sent.
type sleeper struct {
	submit.Trainer
	asleep, wake chan struct{}
}

func (s sleeper) Submit(ctx context.Context, sub formats.Submission, groups formats.Groups, event func(formats.JobEvent)) (formats.Outcome, error) {
	return s.Trainer.Submit(ctx, sub, func(yield func([]formats.Trajectory, error) bool) {
		first := true
		groups(func(rows []formats.Trajectory, err error) bool {
			if first {
				close(s.asleep)
				<-s.wake
			}
			first = false
			return yield(rows, err)
		})
	}, event)
}

// TestAZombieSendsNothing: an owner sleeps beyond its lease, another run takes
// the submission over and trains, and then the first one wakes up.
func TestAZombieSendsNothing(t *testing.T) {
	server, place := place(t, arttest.Faults{Atomic: true})
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	first := options(t, place)
	first.Now = now.Now
	nap := sleeper{first.Trainer, make(chan struct{}), make(chan struct{})}
	first.Trainer = nap
	ended := make(chan error, 1)
	go func() {
		_, err := submit.Run(context.WithoutCancel(t.Context()), first)
		ended <- err
	}()
	<-nap.asleep
	second := options(t, place)
	second.Now = now.Now
	kind(t, second, stages.KindTemporary) // the lease holds
	now.pass(2 * time.Minute)
	// The server has seen the zombie's request begin, and then is busy with it,
	// or it has not, and then the batch is sent again at once.
	result, err := submit.Run(t.Context(), second)
	var e *stages.Error
	if err != nil && !(errors.As(err, &e) && e.Kind == stages.KindTemporary) {
		t.Errorf("%+v, %v", result.Receipt, err)
	}
	close(nap.wake)
	err = <-ended
	if !errors.As(err, &e) || e.Kind != stages.KindTemporary || !strings.Contains(err.Error(), "lease") {
		t.Errorf("the zombie: %v", err)
	}
	completes(t, second)
	if server.Jobs() != 1 {
		t.Errorf("%d jobs", server.Jobs())
	}
}

// TestAnOwnerThatSleptBeforeSendingIsFenced: its place in the ledger is taken.
func TestAnOwnerThatSleptBeforeSendingIsFenced(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	first, second := options(t, place), options(t, place)
	first.Now, second.Now = now.Now, now.Now
	nap := drowsy{first.Trainer, make(chan struct{}), make(chan struct{})}
	first.Trainer = nap
	ended := make(chan error, 1)
	go func() {
		_, err := submit.Run(context.WithoutCancel(t.Context()), first)
		ended <- err
	}()
	<-nap.asleep
	now.pass(2 * time.Minute)
	completes(t, second)
	close(nap.wake)
	var e *stages.Error
	if err := <-ended; !errors.As(err, &e) || e.Kind != stages.KindTemporary || !strings.Contains(err.Error(), "took this submission over") {
		t.Errorf("the sleeper: %v", err)
	}
	if len(server.Batches()) != 1 {
		t.Errorf("%d batches", len(server.Batches()))
	}
}

// drowsy sleeps while it makes the trainer ready.
type drowsy struct {
	submit.Trainer
	asleep, wake chan struct{}
}

func (d drowsy) Begin(ctx context.Context, known *formats.Policy) (formats.Standing, error) {
	close(d.asleep)
	<-d.wake
	return d.Trainer.Begin(ctx, known)
}

func TestATrainingThatFails(t *testing.T) {
	two := 2
	server, place := place(t, arttest.Faults{CloseAfter: &two})
	o := options(t, place)
	for i := range 2 {
		e := kind(t, o, stages.KindFailed)
		if !strings.Contains(e.Error(), "no new checkpoint") || !strings.Contains(e.Hint(), "--resubmit") {
			t.Errorf("%v; %s", e, e.Hint())
		}
		r, err := submit.ReadReceipt(t.Context(), o.Receipt)
		if err != nil || r.State != formats.JobFailed || r.Policy.Version != 0 || len(r.MetricSteps) != 2 {
			t.Errorf("run %d: %+v, %v", i, r, err)
		}
	}
	if len(server.Batches()) != 1 {
		t.Errorf("%d batches", len(server.Batches()))
	}
	server.Set(arttest.Faults{})
	o.Resubmit = true
	if r := completes(t, o); r.Attached || server.Jobs() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestNothingTrainableIsAFailureThatSaysSo(t *testing.T) {
	_, place := place(t, arttest.Faults{Untrainable: true})
	if e := kind(t, options(t, place), stages.KindFailed); !strings.Contains(e.Error(), "nothing to train on") || !strings.Contains(e.Hint(), "flat groups") {
		t.Errorf("%v; %s", e, e.Hint())
	}
}

// TestWhatIsCertainlyUntrainedIsSentAgain: no flag is needed after a refusal,
// or after a training that an atomic server undid.
func TestWhatIsCertainlyUntrainedIsSentAgain(t *testing.T) {
	one := 1
	for name, c := range map[string]struct {
		faults arttest.Faults
		kind   stages.Kind
	}{
		"refused":       {arttest.Faults{TrainStatus: 422}, stages.KindFailed},
		"atomic, broke": {arttest.Faults{Atomic: true, CloseAfter: &one}, stages.KindFailed},
	} {
		t.Run(name, func(t *testing.T) {
			server, place := place(t, c.faults)
			o := options(t, place)
			kind(t, o, c.kind)
			server.Set(arttest.Faults{Atomic: c.faults.Atomic})
			if r := completes(t, o); r.Attached || server.Jobs() != 1 {
				t.Errorf("%+v, %d jobs", r, server.Jobs())
			}
		})
	}
}

func TestATrainerThatIsAwayIsTemporary(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	server.Close()
	if e := kind(t, options(t, place), stages.KindTemporary); !strings.Contains(e.Error(), "failed to connect to ART backend") || !strings.Contains(e.Hint(), "healthcheck") {
		t.Errorf("%v; %s", e, e.Hint())
	}
}

func TestOtherAdvantagesAreSaidBeforehand(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	rows := backendtest.Group(0)
	for i := range rows {
		a := float64(i) - 3 // not what ART makes of these rewards
		rows[i].Advantage = &a
	}
	o := options(t, place)
	o.In.URI = curated(t, t.TempDir()+"/drifted", rows)
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	r := completes(t, o)
	for _, text := range []string{log.String(), r.Receipt.Message} {
		if !strings.Contains(text, "ART recomputes advantages") || !strings.Contains(text, "1 of 1 groups") {
			t.Errorf("%s", text)
		}
	}
}

func TestAnotherBatchesReceiptIsNotReplaced(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	o := options(t, place)
	completes(t, o)
	o.In.URI = curated(t, t.TempDir()+"/other", backendtest.Group(5), backendtest.Group(6))
	if e := kind(t, o, stages.KindUsage); !strings.Contains(e.Hint(), "--overwrite") {
		t.Error(e.Hint())
	}
	o.Overwrite = true
	completes(t, o)
}

// careless overwrites what it should only create.
type careless struct{ *storage.Bucket }

func (c careless) Create(ctx context.Context, key string, data []byte) error {
	return c.Write(ctx, key, data)
}

func TestAStoreThatOverwritesIsRefused(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.Ledger = careless{bucket(t, place.Ledger)}
	if e := kind(t, o, stages.KindUsage); !strings.Contains(e.Error(), "must only be created") {
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

func TestAnInterruptedSubmissionIsResolvedByTheNext(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		hold, received := make(chan struct{}), make(chan struct{})
		server, place := place(t, arttest.Faults{Atomic: atomic, Hold: hold, Received: func(string) { close(received) }})
		ctx, cancel := context.WithCancel(t.Context())
		o := options(t, place)
		ended := make(chan error, 1)
		go func() {
			_, err := submit.Run(ctx, o)
			ended <- err
		}()
		<-received
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		close(hold)
		o.Wait = true
		server.WaitBatches(1) // it ends by itself
		completes(t, o)
		if len(server.Batches()) != 1 {
			t.Errorf("%d batches", len(server.Batches()))
		}
	}
}

func TestAPreparedPolicyStands(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	first, err := submit.Prepare(t.Context(), o)
	if err != nil || first.Receipt.State != formats.JobPrepared || first.Receipt.Policy.Model != "trainer_run" {
		t.Fatalf("%+v, %v", first.Receipt, err)
	}
	again, err := submit.Prepare(t.Context(), o)
	if err != nil || !again.UpToDate || len(server.Bodies("/_prepare_backend_for_training")) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestOptionsAreCheckedFirst(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	for name, spoil := range map[string]func(*submit.Options){
		"no input":         func(o *submit.Options) { o.In.URI = "" },
		"no backend":       func(o *submit.Options) { o.Trainer = nil },
		"no place":         func(o *submit.Options) { o.Receipt = nil },
		"no ledger":        func(o *submit.Options) { o.Ledger = nil },
		"exclude":          func(o *submit.Options) { o.Resubmit, o.AssumeTrained = true, true },
		"must be at least": func(o *submit.Options) { o.LeaseTTL = time.Millisecond },
	} {
		o := options(t, place)
		spoil(&o)
		if e := kind(t, o, stages.KindUsage); !strings.Contains(e.Error(), name) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestKeysAreStable(t *testing.T) {
	target := formats.Target{Backend: "art", Address: "http://a:1", Model: "p/m"}
	key := submit.Key("3-00ff", target)
	if key != submit.Key("3-00ff", target) || len(key) != 32 {
		t.Error(key)
	}
	other := target
	other.Model = "p/n"
	if key == submit.Key("3-00fe", target) || key == submit.Key("3-00ff", other) {
		t.Error("two batches have one key")
	}
	if _, err := json.Marshal(target); err != nil {
		t.Error(err)
	}
}
