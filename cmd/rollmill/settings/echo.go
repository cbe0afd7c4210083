package settings

import (
	"context"
	"errors"
	"slices"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/inspect/audit"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/echo"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// echoed is the reward that has the log probabilities of a trainer before its first step.
const echoed = "trainer"

// missingEcho is the share of the rows handed over as sequences of which an echo may lack something.
const missingEcho = 0.1

// EchoOf scores a batch by what its trainer gave back: thin scores beside the receipt at a
// URI, with the rewards trainer, trainer_new and so on, of kind echo. If rows that were sent
// have none, the error is that of the gate max-failure-rate. Then it compares the log
// probabilities before the first step with what the engine recorded, as audit does with
// --mismatch: if their mean ratio is far from 1, the error is a *manifest.GateError, too. Either
// gate may be accepted. A trainer that gave nothing back is an error. No error is one of usage:
// the batch was trained, and it says where the receipt is.
func EchoOf(ctx context.Context, env stages.Env, in stages.Input, receipt *receipts.Receipt,
	at string) (stages.Report, error) {
	report, err := echoReport(ctx, env, in, receipt, at)
	if err != nil {
		hint := ""
		if gate := (*manifest.GateError)(nil); errors.As(err, &gate) {
			hint = "look at the rows with `rollmill show " + gate.URI + "`; --accept-gate " + gate.Gates[0].Name + " accepts them"
		}
		err = fault.Errorf(fault.Failed, hint,
			"the batch was trained, and its receipt is %s; what the trainer gave back: %w", storage.Redact(at), err)
	}
	return report, err
}

func echoReport(ctx context.Context, env stages.Env, in stages.Input, receipt *receipts.Receipt,
	at string) (stages.Report, error) {
	out := run.EchoOf(at)
	given, err := givenBack(ctx, receipt, at)
	if err != nil {
		return stages.Report{}, err
	}
	columns, err := echo.Columns(ctx, given, OpenScored)
	if err != nil {
		return stages.Report{}, err
	}
	missing := missingEcho
	if sent, has := receipt.Sequences["sequences.parquet"]; has && receipt.Trajectories > 0 {
		missing = 1 - (1-missing)*float64(sent.Trajectories)/float64(receipt.Trajectories)
	}
	o := score.Options{Env: env, In: in, Out: stages.Output{URI: out, Overwrite: true}, Registry: rewards.All,
		Open: OpenScored, MaxFailureRate: &missing}
	for i, of := range columns {
		name, weight := echoed, 0.0
		if i == 0 { // scores have a total
			weight = 1
		}
		if of != echo.Old {
			name += "_" + of
		}
		o.Rewards = append(o.Rewards, score.Spec{Name: name, Weight: weight, Kind: echo.Kind.Name, Arguments: echo.Arguments(of, given)})
	}
	report, err := score.Run(ctx, o)
	if gate := (*manifest.GateError)(nil); errors.As(err, &gate) {
		gate.Gates = slices.DeleteFunc(gate.Gates, func(g manifest.GateResult) bool { return slices.Contains(in.AcceptGates, g.Name) })
		if len(gate.Gates) == 0 {
			err = nil
		}
	}
	if err != nil || !slices.Contains(columns, echo.Old) || slices.Contains(in.AcceptGates, "mismatch") {
		return report, err
	}
	found, err := audit.Run(ctx, audit.Options{URI: out, Only: []string{"mismatch"}, Mismatch: echoed})
	if err != nil || len(found.Findings) == 0 {
		return report, err
	}
	low, high := 1-audit.Loose, 1+audit.Loose
	gate := manifest.Gate{Name: "mismatch", Count: "mean ratio", Min: &low, Max: &high}
	return report, &manifest.GateError{URI: out, Gates: []manifest.GateResult{{Gate: gate, Value: found.Mismatches[0].Ratio}}}
}
