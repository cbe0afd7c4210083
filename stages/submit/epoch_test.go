package submit_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/s3test"
)

// stores are where a ledger may be.
func stores(t *testing.T) map[string]string {
	return map[string]string{"disk": "", "bucket": s3test.Start(t).URI("run")}
}

// made is another dataset of the same run and epoch: curated anew, by other
// rules.
func made(t *testing.T, o submit.Options, groups ...int) submit.Options {
	t.Helper()
	d, err := dataset.Open(t.Context(), o.In.URI, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.In.URI, o.Out = curatedIn(t, d.Run, t.TempDir()+"/curate", rowsOf(groups...)...), t.TempDir()
	o.Receipt = bucket(t, o.Out)
	return o
}

func rowsOf(groups ...int) (rows [][]formats.Trajectory) {
	for _, g := range groups {
		rows = append(rows, backendtest.Group(g))
	}
	return rows
}

func TestAnEpochTrainsAServedPolicyOnce(t *testing.T) {
	for name, uri := range stores(t) {
		t.Run(name, func(t *testing.T) {
			server, place := place(t, arttest.Faults{})
			if uri != "" {
				place.Ledger = uri
			}
			first := options(t, place)
			first.Keys = listed(bucket(t, place.Ledger))
			completes(t, first)
			other := made(t, first, 0, 1)
			for _, dry := range []bool{true, false} {
				other.DryRun = dry
				e := kind(t, other, fault.Person)
				if !strings.Contains(e.Error(), `epoch 0 of the run "run" was submitted to art at`) || !strings.Contains(e.Error(), "with other rows") ||
					!strings.Contains(fault.HintOf(e), "--resubmit") {
					t.Errorf("%v; %s", e, fault.HintOf(e))
				}
			}
			if server.Jobs() != 1 {
				t.Fatalf("%d jobs", server.Jobs())
			}
			if r := completes(t, first); !r.Attached {
				t.Error("the first one is no longer attached to")
			}
			// The next epoch is free, and so is another run.
			next := made(t, first, 2, 0)
			next.Epoch, next.MaxStaleness = 1, 9
			completes(t, next)
			another := made(t, first, 1, 2)
			another.Run, another.MaxStaleness = "another", 9
			completes(t, another)
			another.Resubmit, another.MaxStaleness = true, 9
			completes(t, another)
			another.Resubmit = false
			if r := completes(t, another); !r.Attached || server.Jobs() != 4 {
				t.Errorf("%+v, %d jobs", r, server.Jobs())
			}
		})
	}
}

// silent is a trainer that forgot to describe itself.
type silent struct{ backends.Trainer }

func (silent) Describe() (d backends.Description) { return d }

// wrapped is a trainer around another one.
type wrapped struct{ backends.Trainer }

// TestATrainerThatDescribesNothingIsRefused, and one around another trains an epoch once, as
// that does.
func TestATrainerThatDescribesNothingIsRefused(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	nothing := o
	nothing.Trainer = silent{o.Trainer}
	if _, err := submit.Run(t.Context(), nothing); err == nil || !strings.Contains(err.Error(), "describes nothing") {
		t.Error(err)
	}
	plain := o
	o.Trainer = wrapped{o.Trainer}
	if a, b := completes(t, o), completes(t, plain); a.Identity != b.Identity || !b.Attached {
		t.Errorf("%+v, then %+v", a, b)
	}
	other := made(t, o, 0, 1)
	other.MaxStaleness = 9
	if e := kind(t, other, fault.Person); !strings.Contains(e.Error(), "with other rows") || server.Jobs() != 1 {
		t.Errorf("%v, %d jobs", e, server.Jobs())
	}
}

func TestAVoidAttemptFreesItsEpoch(t *testing.T) {
	server, place := place(t, arttest.Faults{TrainStatus: 422})
	first := options(t, place)
	kind(t, first, fault.Failed)
	server.Set(arttest.Faults{})
	second := made(t, first, 0, 1)
	completes(t, second)
	if e := kind(t, first, fault.Person); !strings.Contains(e.Error(), "with other rows") || server.Jobs() != 1 {
		t.Errorf("%v, %d jobs", e, server.Jobs())
	}
}

// TestRacingDatasetsOfOneEpochTrainOnce: several datasets of an epoch at the
// same moment; at most one is trained, and in the end exactly one is.
func TestRacingDatasetsOfOneEpochTrainOnce(t *testing.T) {
	server, place := place(t, arttest.Faults{Atomic: true})
	first := options(t, place)
	racers := []submit.Options{first, made(t, first, 0, 1), made(t, first, 0, 2), made(t, first, 1, 2)}
	var all sync.WaitGroup
	for _, o := range racers {
		all.Go(func() { submit.Run(t.Context(), o) })
	}
	all.Wait()
	if server.Jobs() > 1 {
		t.Fatalf("%d jobs", server.Jobs())
	}
	done := 0
	for _, o := range racers {
		if r, err := submit.Run(t.Context(), o); err == nil && r.Receipt.State == receipts.JobCompleted {
			done++
		}
	}
	if done != 1 || server.Jobs() != 1 {
		t.Errorf("%d completed, %d jobs", done, server.Jobs())
	}
}

// TestKilledHolderFreesEpoch kills the sender at each of
// its writes; the dataset is then made anew, and submitted in its place.
func TestKilledHolderFreesEpoch(t *testing.T) {
	for n := int64(1); n <= 7; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s-%d", when, n), func(t *testing.T) {
				t.Parallel()
				server, o := place(t, arttest.Faults{Atomic: true})
				doomed := o
				doomed.Kill = fmt.Sprintf("%s %d", when, n)
				if a := run(t, doomed); !a.killed {
					t.Skipf("it has fewer writes: %+v", a)
				}
				other := made(t, options(t, o), 0, 1)
				result, err := submit.Run(t.Context(), other)
				if server.Jobs() != 1 {
					t.Errorf("%+v, %v, %d jobs", result.Receipt, err, server.Jobs())
				}
				again := run(t, o)
				if _, err2 := submit.Run(t.Context(), other); server.Jobs() != 1 || (err == nil) == (again.Err == "") || (err == nil) != (err2 == nil) {
					t.Errorf("%v, %+v, %v, %d jobs", err, again, err2, server.Jobs())
				}
			})
		}
	}
}

func TestChangedSettingsAreNamed(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	first := options(t, place)
	first.Keys = listed(bucket(t, place.Ledger))
	completes(t, first)
	rate := 3e-5
	tr, err := art.New(art.Config{IP: place.Host, Port: place.Port, APIKey: "hush", Training: art.Training{LearningRate: &rate}})
	if err != nil {
		t.Fatal(err)
	}
	changed := first
	changed.Trainer = tr
	for _, out := range []string{first.Out, t.TempDir()} {
		changed.Out, changed.Receipt = out, bucket(t, out)
		for _, keys := range []submit.Keys{first.Keys, nil} {
			changed.Keys = keys
			e := kind(t, changed, fault.Usage)
			if !strings.Contains(e.Error(), "learning-rate was 0.00005, is 0.00003") || !strings.Contains(fault.HintOf(e), "--resubmit") {
				t.Errorf("%v; %s", e, fault.HintOf(e))
			}
		}
	}
	if server.Jobs() != 1 {
		t.Errorf("%d jobs", server.Jobs())
	}
}

// TestASweepMakesAModelForEachSetting: jobs that make a new model each are
// keyed by digest and settings alone.
func TestASweepMakesAModelForEachSetting(t *testing.T) {
	for name, uri := range stores(t) {
		t.Run(name, func(t *testing.T) {
			server, o := tuned(t, openaitest.Faults{})
			if uri != "" {
				o.Ledger = bucket(t, uri)
			}
			o.Keys = listed(o.Ledger.(*storage.Bucket))
			o.In.URI = curatedIn(t, opened(t, t.TempDir()), t.TempDir()+"/curate", rowsOf(0, 1, 2)...)
			submission := func(epochs int, groups ...int) submit.Options {
				tr, err := openai.New(openai.Config{BaseURL: server.URL, APIKey: openaitest.Key, Model: "gpt-test", MinRows: 1, Settle: 1, Poll: 1,
					Hyperparameters: map[string]any{"n_epochs": epochs}})
				if err != nil {
					t.Fatal(err)
				}
				o := o
				if groups != nil {
					o = made(t, o, groups...)
				} else {
					o.Out = t.TempDir()
					o.Receipt = bucket(t, o.Out)
				}
				o.Trainer = tr
				return o
			}
			for epochs := range 3 {
				one := submission(epochs + 1)
				completes(t, one)
				if r := completes(t, one); !r.Attached {
					t.Error("it was sent again")
				}
			}
			completes(t, submission(1, 0)) // the halves of a split
			completes(t, submission(1, 1, 2))
			if n := len(server.Jobs()); n != 5 {
				t.Errorf("%d jobs, want 5", n)
			}
			one, two := submission(1), submission(7)
			two.Out, two.Receipt = one.Out, one.Receipt
			completes(t, one)
			if e := kind(t, two, fault.Usage); !strings.Contains(e.Error(), "n_epochs was 1, is 7") {
				t.Error(e)
			}
		})
	}
}
