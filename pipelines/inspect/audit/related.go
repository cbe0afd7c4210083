package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/inspect/audit/witness"
	"github.com/rollmill/rollmill/pipelines/look/find"
	"github.com/rollmill/rollmill/storage/fault"
)

// together runs the checks that compare several datasets and receipts.
func (a *auditor) together(ctx context.Context) error {
	if a.wants(checkResubmitted) {
		a.find(checkResubmitted, resubmitted(a.found.Receipts)...)
	}
	if slices.ContainsFunc([]string{checkLeak, checkLeakText, checkLeakWords, checkLeakShort}, a.wants) {
		if err := a.leaks(ctx); err != nil {
			return err
		}
	}
	if a.Against == "" {
		return nil
	}
	return a.witness(ctx)
}

// witness compares the attempts with a second record of them.
func (a *auditor) witness(ctx context.Context) error {
	against, err := dataset.Open(ctx, a.Against, dataset.OpenOptions{IgnoreGates: true, Kind: schema.KindTrajectories})
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(a.found.Datasets), func(d *dataset.Dataset) bool {
		return d.Kind != schema.KindTrajectories || d.Stage == find.StageCurate || runroot.InValidation(d.URI()) || d.URI() == against.URI()
	})
	if ref := against.Ref("", ""); len(own) != 1 || own[0].Is(&ref) {
		return fault.Errorf(fault.Usage, "name one dataset with --in, and with --against another program's record of its attempts, imported",
			"--against %q: %s under %q to compare with it", against.URI(), plural.Of(len(own), "rollout or import"), a.found.Root)
	}
	facts, found, err := witness.Run(ctx, witness.Options{In: own[0], Against: against, Join: a.Join})
	if err != nil {
		return err
	}
	a.out.Witness = facts
	for _, f := range found {
		if a.wants(f.Check) {
			a.find(f.Check, f)
		}
	}
	return nil
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
