package submit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/submit"
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
	}{
		{"the newest policy's", 1, "trainer_run", 0, 1, ""},
		{"a model's name with a step", 1, "trainer_run@1", 0, 1, ""},
		{"one step old", 0, "trainer_run", 0, 1, "policy version 0, and the trainer is at step 1: they are 1 steps old"},
		{"one step old, allowed", 0, "trainer_run", 1, 1, ""},
		{"newer than the trainer", 7, "trainer_run", 9, 0, "newer than the trainer"},
		{"another model's", 0, "somebody", 0, 0, `made by the model "somebody", and the one being trained is "trainer_run"`},
	} {
		t.Run(c.what, func(t *testing.T) {
			server, place := place(t, arttest.Faults{})
			for range c.trained {
				completes(t, options(t, place))
			}
			o := options(t, place)
			o.In.URI = curated(t, t.TempDir()+"/curate", madeBy(backendtest.Group(5), c.version, c.model), backendtest.Group(6))
			o.Out = t.TempDir()
			o.Receipt, o.MaxStaleness = bucket(t, o.Out), c.staleness
			result, err := submit.Run(t.Context(), o)
			if c.refused == "" {
				if err != nil || result.Receipt.State != formats.JobCompleted {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, formats.ErrInvalid) || !strings.Contains(err.Error(), c.refused) || server.Jobs() != c.trained {
				t.Errorf("%v; %d jobs", err, server.Jobs())
			}
			// Nothing was sent, so the batch may be sent when it is right, or on purpose.
			o.Resubmit = true
			completes(t, o)
		})
	}
}

func TestWhatIsOnlyWorthAWarning(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	o := options(t, place)
	old := backendtest.Group(1)
	for i := range old {
		old[i].Epoch = 1
	}
	o.In.URI, o.DryRun = curated(t, t.TempDir()+"/curate", backendtest.Group(0), madeBy(old, 0, "trainer_run")), true
	result, err := submit.Run(t.Context(), o)
	notes := strings.Join(result.Load.Notes, "\n")
	if err != nil || !strings.Contains(notes, "of epoch 1, and are submitted as epoch 3") || !strings.Contains(notes, "epochs 0 to 1") || !strings.Contains(notes, "4 of 8 rows do not say") {
		t.Errorf("%v: %s", err, notes)
	}
}
