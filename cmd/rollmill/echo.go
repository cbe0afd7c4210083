package main

import (
	"context"
	"path"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/inspect/audit"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/echo"
	"github.com/rollmill/rollmill/storage"
)

// echoed is the reward that has the log probabilities of a trainer before its first step.
const echoed = "trainer"

// echoOf scores a batch by what its trainer gave back: thin scores at out, with the rewards
// trainer, trainer_new and so on, of kind echo. Then it compares those before the first step with
// what the engine recorded, as audit does with --mismatch: if their mean ratio is far from 1, the
// error is a *dataset.GateError, unless the gate is accepted. A trainer that gave nothing back
// is an error.
func echoOf(ctx context.Context, env stages.Env, in stages.Input, receipt *formats.Receipt, out string) (stages.Report, error) {
	at := slices.IndexFunc(receipt.Files, func(uri string) bool { return path.Base(uri) == backends.EchoFile })
	if at < 0 {
		return stages.Report{}, stages.Errorf(stages.KindFailed, "backends command and tinker can, and a program must be written for it",
			"submit: the trainer gave nothing back: it named no %s among its files", backends.EchoFile)
	}
	columns, err := echo.Columns(ctx, receipt.Files[at], openScored)
	if err != nil {
		return stages.Report{}, err
	}
	o := score.Options{Env: env, In: in, Out: stages.Output{URI: out, Overwrite: true}, Registry: rewards.All, Open: openScored}
	for i, of := range columns {
		name, weight := echoed, 0.0
		if i == 0 { // scores have a total
			weight = 1
		}
		if of != echo.Old {
			name += "_" + of
		}
		o.Rewards = append(o.Rewards, score.Spec{Name: name, Weight: weight, Kind: echo.Kind.Name, Arguments: receipt.Files[at] + ",of=" + of})
	}
	report, err := score.Run(ctx, o)
	if err != nil || !slices.Contains(columns, echo.Old) || slices.Contains(in.AcceptGates, "mismatch") {
		return report, err
	}
	found, err := audit.Run(ctx, audit.Options{URI: out, Only: []string{"mismatch"}, Mismatch: echoed})
	if err != nil || len(found.Findings) == 0 {
		return report, err
	}
	low, high := 1-audit.Loose, 1+audit.Loose
	return report, &dataset.GateError{URI: out, Gates: []dataset.GateResult{{Gate: dataset.Gate{Name: "mismatch", Count: "mean ratio", Min: &low, Max: &high},
		Value: found.Mismatches[0].Ratio}}}
}

// openScored opens a file that a reward reads.
func openScored(ctx context.Context, uri string) (score.File, error) {
	folder, name := storage.Split(uri)
	b, err := storage.Open(ctx, folder)
	if err != nil {
		return nil, err
	}
	return b.Open(ctx, name)
}
