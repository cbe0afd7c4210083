package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/look/find"
)

// together runs the checks that compare several datasets and receipts.
func (a *auditor) together(ctx context.Context) error {
	if a.wants(checkResubmitted) {
		a.find(checkResubmitted, resubmitted(a.found.Receipts)...)
	}
	if !a.wants(checkLeak) && !a.wants(checkLeakText) {
		return nil
	}
	return a.leaks(ctx)
}

// trained lists the states of a submission whose batch was, or may be, trained on.
var trained = []string{receipts.JobPending, receipts.JobRunning, receipts.JobCompleted}

// resubmitted reports batches that were sent to one target more than once. Receipts of the same
// submission, such as those of commands that attached to its job, have the same start time.
func resubmitted(receipts []find.Receipt) []validate.Finding {
	first := map[string]find.Receipt{}
	var out []validate.Finding
	for _, r := range receipts {
		if r.Trajectories == 0 || r.Backend == "file" || !slices.Contains(trained, r.State) {
			continue
		}
		was, again := first[r.Key]
		if again && !was.StartedAt.Equal(r.StartedAt) {
			out = append(out, validate.Finding{URI: r.URI, Count: r.Trajectories,
				What: fmt.Sprintf("the batch was submitted to %s before: %s", r.Backend, was.URI)})
		}
		if !again {
			first[r.Key] = r
		}
	}
	return out
}
