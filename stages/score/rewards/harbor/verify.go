package harbor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/workspace"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/score"
)

// attempt is what a row's attempt left, with the task that judges it.
type attempt struct {
	formats.Workspace
	task harbor.Task
	left []string // programs that ran when it ended
}

// run is what one run of the tests gave.
type run struct {
	Reward  *float64 `json:"reward"`
	Output  string   `json:"output"` // of the tests, its beginning
	failure string   // why there is no reward: one of outcomes.RewardFailures
	err     error
}

func (r *reward) value(ctx context.Context, row *score.Row) (score.Value, error) {
	a, why := r.attemptOf(row)
	if why != "" {
		return score.Failed(outcomes.RewardError, "%s", why), nil
	}
	runs := make([]run, r.Repeat)
	for i := range runs {
		var err error
		if runs[i], err = r.run(ctx, a, i); err != nil {
			return score.Value{}, err
		}
	}
	return agreed(runs), nil
}

// attemptOf returns what is to be verified, or why it cannot be.
func (r *reward) attemptOf(row *score.Row) (a attempt, why string) {
	var f harbor.Fields
	if err := json.Unmarshal([]byte(row.Example), &f); err != nil || f.Digest == "" {
		return a, fmt.Sprintf("example %q is no Harbor task", row.ExampleID)
	}
	known := false
	if a.task, known = r.tasks[f.ID]; !known {
		return a, fmt.Sprintf("%s has no task %q", r.Tasks, f.ID)
	}
	if a.Workspace, known = r.kept.Of(row.TrajectoryID); !known {
		return a, "no workspace of the attempt was kept: rollout --keep-workspace keeps them"
	}
	other := slices.DeleteFunc(slices.Clone(a.LeftOut), func(what string) bool {
		name, running := strings.CutPrefix(what, workspace.Running)
		if running {
			a.left = append(a.left, name)
		}
		return running
	})
	if len(other) > 0 {
		why = "the workspace is not whole: " + strings.Join(other, "; ")
	}
	return a, why
}

// run returns a run that is stored, or makes it. One without a reward is not stored.
func (r *reward) run(ctx context.Context, a attempt, i int) (v run, err error) {
	kind, _, _ := strings.Cut(r.Runtime, ":")
	key := formats.JSONDigest([]any{"harbor", verifier.Version, i, a.task.Digest, a.Key(), kind, r.TaskEnv.Params()})
	store := r.Judging.Store
	if store != nil {
		data, known, err := store.Get(ctx, key)
		if known && err == nil {
			err = json.Unmarshal(data, &v)
		}
		if known || err != nil {
			return v, err
		}
	}
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return v, err
	}
	defer r.slots.Release(1)
	if err := r.start(); err != nil {
		return v, err
	}
	if v.err = r.verify(ctx, a, &v); v.err != nil {
		if v.failure = outcomes.RewardError; errors.Is(v.err, containers.ErrPhase) {
			v.failure = outcomes.RewardTimeout
		}
		v.err = errors.New(secret.From(ctx).Redact(v.err.Error()))
	}
	if ctx.Err() != nil || v.err != nil || store == nil {
		return v, context.Cause(ctx)
	}
	text, err := json.Marshal(v)
	return v, errors.Join(err, store.Put(ctx, key, text))
}

// verify restores a workspace in a fresh container and runs the tests there, or says why not.
func (r *reward) verify(ctx context.Context, a attempt, v *run) error {
	if err := r.machine.Bring(ctx, a.ImageDigest, "", a.task.Environment.BuildTimeout); err != nil {
		return fmt.Errorf("the image of the attempt: %w", err)
	}
	release, err := r.machine.Reserve(ctx, a.task.Environment.MemoryMB)
	if err != nil {
		return err
	}
	defer release()
	box, err := r.machine.Start(ctx, a.task, a.ImageDigest, a.TrajectoryID, io.Discard)
	defer box.Remove(ctx)
	if err != nil {
		return fmt.Errorf("the image of the attempt: %w", err)
	}
	archive := r.kept.Archive(ctx, a.Workspace)
	defer archive.Close()
	if err := box.Restore(ctx, archive, a.Size, a.Paths); err != nil {
		return fmt.Errorf("restoring the workspace: %w", err)
	}
	verdict, err := box.Judge(ctx, a.left)
	v.Reward, v.Output = verdict.Reward, secret.From(ctx).Redact(strings.ToValidUTF8(box.Printed.String(), "\uFFFD"))
	if err == nil && verdict.Reward == nil {
		err = fmt.Errorf("no reward of %v is the total", verdict.Rewards)
	}
	if err != nil {
		return fmt.Errorf("the verifier: %w", err)
	}
	return nil
}

// agreed returns the reward on which all runs agree.
func agreed(runs []run) (v score.Value) {
	said, counts := make([]string, len(runs)), map[string]int{}
	for i, one := range runs {
		if said[i] = "none"; one.err == nil {
			said[i] = fmt.Sprint(*one.Reward)
		}
		counts[said[i]]++
	}
	first, other := runs[0], slices.IndexFunc(said, func(s string) bool { return s != said[0] })
	switch {
	case other > 0:
		v = score.Failed(outcomes.RewardError, "the tests contradict themselves: run 1 gave %s, and run %d gave %s",
			said[0], other+1, said[other])
		v.Reason = fmt.Sprintf("run 1:\n%s\nrun %d:\n%s", first.Output, other+1, runs[other].Output)
	case first.err != nil:
		v = score.Failed(first.failure, "%v", first.err)
		v.Reason = first.Output
	default:
		v = score.Value{Reward: *first.Reward, Reason: first.Output}
	}
	if len(runs) > 1 {
		most := slices.Max(slices.Collect(maps.Values(counts)))
		share := float64(len(runs)-most) / float64(len(runs))
		v.Parts = []score.Part{{Value: &share}}
	}
	return v
}
