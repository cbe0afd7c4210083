package tidy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// readers maps the stages whose datasets can be removed to the last stage of their
// epoch that reads them.
var readers = map[string]string{"rollout": "curate", "score": "curate", "group": "curate", "curate": "submit"}

// Stages are the stages whose datasets can be removed, in the order of the data.
var Stages = []string{"rollout", "score", "group", "curate"}

// PruneOptions select what is removed from a run. Without a rule, only what killed
// writers left is.
type PruneOptions struct {
	Root string // URI of the run's folder

	// An epoch that one of these keeps is kept; 0 keeps none.
	KeepEpochs int // the last epochs
	KeepEvery  int // those that it divides
	KeepBest   int // those with the best rewards

	Workspaces bool // remove the workspaces of all rollouts, and keep their rows

	Drop  []string      // the stages whose datasets an old epoch loses; see Stages
	Grace time.Duration // what was written later, by the store's clock, stays
	Force bool          // remove what is protected for a reason that Kept.Forced names

	Rewards func(context.Context) (map[int]float64, error) // by epoch, for KeepBest

	later time.Duration // a test's: how long ago everything was written
}

func (o PruneOptions) check() error {
	for _, stage := range o.Drop {
		if readers[stage] == "" {
			return fault.Errorf(fault.Usage, "name some of "+strings.Join(Stages, ", ")+"; receipts are never removed",
				"--drop %q is no stage whose datasets can be removed", stage)
		}
	}
	return nil
}

// rule returns the rules as the user gave them, or "" for none.
func (o PruneOptions) rule() string {
	var out []string
	for _, r := range []struct {
		name string
		n    int
	}{{"--keep-epochs", o.KeepEpochs}, {"--keep-every", o.KeepEvery}, {"--keep-best", o.KeepBest}} {
		if r.n > 0 {
			out = append(out, fmt.Sprintf("%s %d", r.name, r.n))
		}
	}
	return strings.Join(out, " ")
}
