package submit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// madeBy sets who made the rows of a group.
func madeBy(rows []formats.Trajectory, version int64, model string) []formats.Trajectory {
	for i := range rows {
		rows[i].PolicyVersion, rows[i].Model = &version, model
	}
	return rows
}

func TestRowsOfAnotherPolicyAreRefused(t *testing.T) {
	for _, c := range []struct {
		what      string
		version   int64
		model     string
		staleness int64
		trained   int // batches before
		refused   string
		reason    string
	}{
		{"the newest policy's", 1, "trainer_run", 0, 1, "", ""},
		{"a model's name with a step", 1, "trainer_run@1", 0, 1, "", ""},
		{"one step old", 0, "trainer_run", 0, 1, "policy version 0, and the trainer is at step 1: they are 1 steps old", submit.StalePolicy},
		{"one step old, allowed", 0, "trainer_run", 1, 1, "", ""},
		{"newer than the trainer", 7, "trainer_run", 9, 0, "newer than the trainer", submit.NewerPolicy},
		{"another model's", 0, "somebody", 0, 0, `made by the model "somebody", and the one being trained is "trainer_run"`, submit.OtherModel},
	} {
		t.Run(c.what, func(t *testing.T) {
			server, place := place(t, arttest.Faults{})
			for range c.trained {
				completes(t, options(t, place))
			}
			o := options(t, place)
			o.In.URI = curated(t, t.TempDir()+"/curate", madeBy(backendtest.Group(5), c.version, c.model), backendtest.Group(6))
			o.Out = t.TempDir()
			o.Receipt, o.MaxStaleness, o.Run = bucket(t, o.Out), c.staleness, "another"
			result, err := submit.Run(t.Context(), o)
			if c.refused == "" {
				if err != nil || result.Receipt.State != receipts.JobCompleted {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), c.refused) || server.Jobs() != c.trained {
				t.Errorf("%v; %d jobs", err, server.Jobs())
			}
			if len(result.Problems) != 4 || result.Problems[3].TrajectoryID != backendtest.Group(5)[3].TrajectoryID || result.Failures[c.reason] != 4 {
				t.Errorf("%+v, %v", result.Problems, result.Failures)
			}
			// Nothing was sent, so the batch may be sent when it is right, or on purpose.
			o.Resubmit = true
			completes(t, o)
		})
	}
}

func TestWarnings(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	o := options(t, place)
	old := backendtest.Group(1)
	for i := range old {
		old[i].Epoch = 1
	}
	o.In.URI, o.DryRun, o.Epoch = curated(t, t.TempDir()+"/curate", backendtest.Group(0), madeBy(old, 0, "trainer_run")), true, 3
	result, err := submit.Run(t.Context(), o)
	notes := strings.Join(result.Stats.Notes, "\n")
	if err != nil || !strings.Contains(notes, "from epoch 1 and are submitted as epoch 3") || !strings.Contains(notes, "epochs 0 to 1") ||
		!strings.Contains(notes, "4 of 8 rows do not say") {
		t.Errorf("%v: %s", err, notes)
	}
}

// TestStaleEpochsAreRefused: rows that do not say which policy made them are
// judged by their epoch.
func TestStaleEpochsAreRefused(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	for epoch, refused := range map[int]string{2: "of epoch 0, submitted as epoch 2: they are 2 epochs old", -1: "of a later one"} {
		o.Epoch = epoch
		result, err := submit.Run(t.Context(), o)
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), refused) || len(result.Problems) != 12 || server.Jobs() != 0 {
			t.Errorf("%v; %d problems", err, len(result.Problems))
		}
	}
	o.Epoch, o.MaxStaleness = 2, 2
	completes(t, o)
}

// TestADryRunWithThePolicyJudgesTheRows: nothing of the trainer is asked for it.
func TestADryRunWithThePolicyJudgesTheRows(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.In.URI, o.DryRun, o.Policy = curated(t, t.TempDir()+"/curate",
		madeBy(backendtest.Group(0), 1, "trainer_run")), true, &receipts.Policy{Model: "trainer_run", Version: 3}
	result, err := submit.Run(t.Context(), o)
	if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "2 steps old") || len(result.Problems) != 4 ||
		result.Problems[0].Reason != submit.StalePolicy {
		t.Errorf("%v, %+v", err, result.Problems)
	}
	for _, call := range server.Calls() {
		if !strings.HasPrefix(call, "GET ") {
			t.Errorf("it sent %s", call)
		}
	}
}
