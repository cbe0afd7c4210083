package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/plural"
	layout "github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

var scoreCommand = cli.Command{
	Name:     "score",
	Heading:  settings.StagesHeading,
	Usage:    "compute named rewards from stored trajectories",
	Required: "--in, or --root and --epoch or --epochs; at least one --reward",
	About: `A reward is a finite number, or null with the reason; a failed trajectory is
never scored. If the input is scores instead of trajectories, their named rewards
are kept and the total is recomputed.

  rollmill score --in runs/demo/epoch-0/rollout --reward 'tree=command:./bin/tictactoe reward'
  rollmill score --in DATASET --reward 'exact*0.5=match:exact' --reward 'short=expr:len(answer) < 100 ? 1 : 0'
  rollmill score --in SCORES --only failed --out SCORES-2

With --epochs, an epoch that is done is not scored again, and one that fails does
not stop the others:

  rollmill score --root runs/demo --epochs 3..7 --as strict --reward 'exact=match:exact'

A reward is NAME[*WEIGHT]=KIND:ARGUMENTS; without *WEIGHT its weight is 1.

Files that no stage wrote become a dataset first: see rollmill import.`,
	Body: cli.With(newScoreSettings, runScore),
}

// scoreSettings are the settings of score, with its input and output.
type scoreSettings struct {
	score.Options
	Only       []string
	From       string
	Validation bool
	Epochs     settings.EpochRange
	judges     settings.Judge
	settings.Stage
}

func newScoreSettings() *scoreSettings {
	return &scoreSettings{
		Options: score.Options{Registry: rewards.All, Open: settings.OpenScored},
		Stage: settings.Stage{Source: settings.Source{Does: "read trajectories, or scores to keep and add to,"},
			Target: settings.Target{Otherwise: "the sibling \"score\" of the input"}},
	}
}

func (c *scoreSettings) Declare(d *plugin.Declarer) {
	c.DeclareInput(d)
	d.Include(&c.Options)
	d.Heading(plugin.Rows)
	d.Strings(&c.Only, "only",
		"compute only `WHAT`: missing, failed, changed or a reward's name; other rewards are copied from --from").Common()
	d.String(&c.From, "from",
		"copy rewards from the scores at this `URI`, of the same trajectories or of those that they extend").
		DefaultShown("the input, if it is scores")
	d.Bool(&c.Validation, settings.Validation,
		"score held-out examples; section validation of the config file overrides the command's own")
	d.Include(&c.judges)
	d.Heading(plugin.Input)
	d.String((*string)(&c.Epochs), "epochs", "score these epochs of --root, a `RANGE` such as 3..7 or 3..").Common()
	c.DeclareOutput(d)
	d.String(&c.Target.As, "as", "name the dataset `NAME`, in the folder of the input").DefaultShown("score").Common()
}

func runScore(ctx context.Context, s *cli.Session, c *scoreSettings) error {
	switch {
	case c.As != "" && (c.Target.URI != "" || !layout.OfUser(c.As)):
		return cli.Usagef("a name such as strict; --out takes a URI", "--as %q", c.As)
	case c.Epochs != "":
		return c.scoreEpochs(ctx, s)
	}
	r, err := c.score(ctx, s, c.Epoch, nil)
	return settings.FinishStage(s, r, r, err)
}

// score scores the input, or that of an epoch. Its judges are new for nil.
func (c *scoreSettings) score(ctx context.Context, s *cli.Session, epoch *int,
	judging *score.Judging) (stages.Report, error) {
	o := c.Options
	var err error
	if o.In, o.Out, err = c.Places(ctx, s, epoch, c.Validation); err != nil {
		return stages.Report{}, err
	}
	if judging != nil {
		o.Judging = *judging
	} else if o.Judging, err = c.judges.Open(ctx, o.Out.URI, o.Rewards); err != nil {
		return stages.Report{}, err
	}
	o.Only = c.Only
	o.From = stages.Input{URI: c.From, AcceptGates: o.In.AcceptGates}
	o.Env = s.Env()
	defer settings.CollectEvenly(128 << 20)()
	return score.Run(ctx, o)
}

// scoreEpochs scores each epoch of the range. The error names those that failed; the
// judges' budget is for all.
func (c *scoreSettings) scoreEpochs(ctx context.Context, s *cli.Session) error {
	if c.Source.URI+c.Target.URI+c.From != "" || c.Epoch != nil {
		return cli.Usagef("--as names the output in each epoch", "--epochs takes no --in, --out, --from or --epoch")
	}
	_, root := c.Both()
	epochs, err := c.Epochs.Of(ctx, root)
	if err != nil {
		return err
	}
	judging, err := c.judges.Open(ctx, storage.Join(root, s.Command), c.Rewards)
	if err != nil {
		return err
	}
	done, uris := []stages.Report{}, ""
	var failed []error
	for _, e := range epochs {
		r, err := c.score(ctx, s, &e, &judging)
		if gate := (*manifest.GateError)(nil); err == nil || errors.As(err, &gate) {
			s.Reported(s.Place, r)
		}
		if err == nil {
			s.Say("epoch %d: %s", e, settings.Summary(r))
			done, uris = append(done, r), uris+r.URI+"\n"
			continue
		}
		failed = append(failed, fmt.Errorf("epoch %d: %w", e, err))
		var every *fault.Error // of the settings, a spent budget or a server: the next epoch's too
		if ctx.Err() != nil || errors.As(err, &every) && every.Kind != fault.Failed && every.Kind != fault.Input && every.Kind != fault.Gate {
			break
		}
	}
	if failed != nil {
		err = fmt.Errorf("%d of %s scored:\n%w", len(done), plural.Of(len(epochs), "epoch"), errors.Join(failed...))
	}
	return errors.Join(s.PrintText(map[string]any{"epochs": done}, uris), err)
}
