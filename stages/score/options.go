package score

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Options are the settings of Run. Only In, Out, Registry and Rewards are required.
type Options struct {
	stages.Env
	In  stages.Input // a wide dataset, or scores to carry forward
	Out stages.Output

	// Only limits the computation: missing, failed, changed, or the name of a
	// reward. The rest is carried over from From, which may be empty if In
	// holds scores. Rewards may be empty too: they are then those of From.
	Only []string
	From stages.Input

	Registry  Registry // the rewards there are: all.Rewards
	Rewards   Specs    // in the order they are computed; see ParseReward
	DependsOn []string // further files whose content decides the values
	PassEnv   []string // environment variables for programs although they are named like secrets
	TaskEnv   []string // NAME=VALUE, or NAME alone, that Harbor tasks may read
	Seed      int64    // programs and services derive their seeds from it

	// Open opens a file that a reward reads, on a disk or in a bucket.
	Open func(ctx context.Context, uri string) (File, error)

	Judging        Judging       // for rewards that ask a model
	Concurrency    int           // batches scored at once, and programs run for one reward; 0: one per processor
	BatchRows      int           // rows passed to a reward at once, more if a group is larger; 0: 64
	Timeout        time.Duration // the longest wait for a program's next answer; 0: one minute
	KeepBroken     bool          // score all rows although a program fails every one: for a caller that shows why
	MaxFailureRate *float64      // of the trajectories that did not fail, the share that may stay unscored; nil: 0.5

	taskEnv verifier.Variables // of TaskEnv
	base    *dataset.Dataset   // of In
}

const (
	defaultBatchRows      = 64
	defaultTimeout        = time.Minute
	defaultMaxFailureRate = 0.5
)

// Declare declares the user's options, except the datasets and the judges.
func (o *Options) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	plugin.Var(d, &o.Rewards, "reward", "compute `NAME[*WEIGHT]=KIND:ARGUMENTS`").Common().Repeats = true
	plugin.Specs(d, o.Registry, "--reward 'NAME[*WEIGHT]=KIND:ARGUMENTS'", func(kind string) bool {
		return slices.ContainsFunc(o.Rewards, func(s Spec) bool { return s.Kind == kind })
	})
	d.Strings(&o.DependsOn, "depends-on", "include the content of this `FILE` in the dataset's identity")
	d.Int64(&o.Seed, "seed", "derive the seeds of programs and services from `SEED`")
	d.Heading(plugin.Execution)
	d.Int(&o.Concurrency, "concurrency", "score `N` batches at once").Min(0).DefaultShown("one per processor")
	d.Int(&o.BatchRows, "batch-rows", "pass `N` rows to a reward at once").Min(0).
		DefaultShown(strconv.Itoa(defaultBatchRows))
	d.Strings(&o.PassEnv, "reward-env",
		"pass the environment variable `NAME` to reward programs; variables named like secrets (KEY, TOKEN, PASSWORD, ...) "+
			"are not passed otherwise")
	d.Strings(&o.TaskEnv, "task-env", "let Harbor tasks read this `NAME` of the environment, as rollout --task-env does")
	d.Duration(&o.Timeout, "timeout", "wait at most `TIME` for a program's next answer").Min(0).
		DefaultShown(defaultTimeout.String()).Common()
	d.Heading(plugin.Checks)
	d.OptionalFloat(&o.MaxFailureRate, "max-failure-rate",
		"refuse the dataset if more than this `SHARE` of the trajectories that did not fail are unscored").
		DefaultShown(strconv.FormatFloat(defaultMaxFailureRate, 'g', -1, 64))
}

// Validate checks everything that can be checked before a byte is read. Its
// errors are of kind usage.
func (o Options) Validate() error {
	switch {
	case o.In.URI == "":
		return usage("", "no input")
	case o.Out.URI == "":
		return usage("", "no output")
	case o.MaxFailureRate != nil && !(*o.MaxFailureRate >= 0 && *o.MaxFailureRate <= 1):
		return usage("0.1 lets one trajectory in ten stay unscored", "--max-failure-rate %v is not between 0 and 1",
			*o.MaxFailureRate)
	}
	if o.From.URI != "" && len(o.Only) == 0 {
		return usage("say --only missing, failed, changed or the name of a reward", "--from %q without --only", o.From.URI)
	}
	if len(o.Only) == 0 || len(o.Rewards) > 0 {
		if err := checkNames(o.Rewards); err != nil {
			return err
		}
	}
	if s := o.Out.Shard.Of(); s.Index < 0 || s.Index >= s.Count {
		return usage("shards are counted from 0: the last of 4 is 3/4", "--shard %d/%d is out of range", s.Index, s.Count)
	}
	if err := stages.CheckFiles(o.DependsOn); err != nil {
		return usage(cmp.Or(fault.HintOf(err), "the file's content decides the values"), "%w", err)
	}
	rewards, err := makeRewards(o, nil, true)
	if err != nil {
		return err
	}
	return rewards.close()
}

func (o Options) defaults() Options {
	o.Concurrency = cmp.Or(o.Concurrency, runtime.GOMAXPROCS(0))
	o.BatchRows = cmp.Or(o.BatchRows, defaultBatchRows)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.MaxFailureRate = cmp.Or(o.MaxFailureRate, new(defaultMaxFailureRate))
	return o
}
