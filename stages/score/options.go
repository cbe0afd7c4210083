package score

import (
	"fmt"
	"runtime"
	"time"

	"github.com/rollmill/rollmill/stages"
)

// Options are what Run is told. Only In, Out, Kinds and Rewards are needed.
type Options struct {
	stages.Env
	In  stages.Input // a wide dataset, or scores to carry forward
	Out stages.Output

	// Only computes no more than this: missing, failed, changed, or the name of
	// a reward. The rest is carried over from From, which may be left out when
	// In holds scores, and so may Rewards: they are then those of From.
	Only []string
	From stages.Input

	Kinds   Kinds    // the rewards there are: all.Kinds
	Rewards []Spec   // in the order they are computed; see ParseReward
	Uses    []string // further files whose content decides the values
	PassEnv []string // environment variables for programs although they are called as secrets are
	Seed    int64    // what programs and services derive theirs from

	Judging        Judging       // for rewards that ask a model
	Workers        int           // batches scored at once, and programs run for one reward; 0: one per processor
	BatchRows      int           // rows handed to a reward at once, more when a group is larger; 0: 64
	Timeout        time.Duration // the longest wait for a program's next answer; 0: one minute
	MaxFailureRate *float64      // of the trajectories that did not fail, the share that may stay unscored; nil: 0.5
}

const (
	defaultBatchRows      = 64
	defaultTimeout        = time.Minute
	defaultMaxFailureRate = 0.5
)

// Validate checks everything that can be checked before a byte is read. Its
// errors are of kind usage.
func (o Options) Validate() error {
	switch {
	case o.In.URI == "":
		return usage("name the dataset to score with --in", "no input")
	case o.Out.URI == "":
		return usage("name the dataset to write with --out", "no output")
	case o.Workers < 0:
		return usage("0 means one per processor", "--workers %d is negative", o.Workers)
	case o.BatchRows < 0:
		return usage("0 means the default", "--batch-rows %d is negative", o.BatchRows)
	case o.Timeout < 0:
		return usage("0 means the default", "--timeout %s is negative", o.Timeout)
	case o.MaxFailureRate != nil && !(*o.MaxFailureRate >= 0 && *o.MaxFailureRate <= 1):
		return usage("0.1 lets one trajectory in ten stay unscored", "--max-failure-rate %v is not between 0 and 1", *o.MaxFailureRate)
	}
	if o.From.URI != "" && len(o.Only) == 0 {
		return usage("say --only missing, failed, changed or the name of a reward", "--from %q without --only", o.From.URI)
	}
	if len(o.Only) == 0 || len(o.Rewards) > 0 {
		if err := checkNames(o.Rewards); err != nil {
			return err
		}
	}
	if err := o.checkShard(); err != nil {
		return err
	}
	if _, err := digestFiles(o.Uses); err != nil {
		return err
	}
	rewards, err := build(o, nil, true)
	if err != nil {
		return err
	}
	return rewards.close()
}

func (o Options) checkShard() error {
	if s := o.Out.Shard.Of(); s.Index < 0 || s.Index >= s.Count {
		return usage("shards are counted from 0: the last of 4 is 3/4", "--shard %d/%d is out of range", s.Index, s.Count)
	}
	return nil
}

// defaults fills in what was left at zero.
func (o Options) defaults() Options {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.BatchRows == 0 {
		o.BatchRows = defaultBatchRows
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxFailureRate == nil {
		rate := defaultMaxFailureRate
		o.MaxFailureRate = &rate
	}
	return o
}

func usage(hint, format string, args ...any) error {
	return stages.Errorf(stages.KindUsage, hint, "score: %w", fmt.Errorf(format, args...))
}
