package settings

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/pipelines/inspect/audit"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
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
	o := score.Options{Env: env, In: in, Out: stages.Output{URI: out, Overwrite: true}, Registry: rewards.All, Open: OpenScored, MaxFailureRate: &missing}
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

// givenBack copies what a trainer gave back to a Parquet file beside the receipt, and returns
// its URI.
func givenBack(ctx context.Context, receipt *receipts.Receipt, beside string) (string, error) {
	lines := strings.TrimSuffix(backends.EchoFile, ".parquet") + ".jsonl"
	named := func(uri string) string { _, name := storage.Split(uri); return name }
	at := slices.IndexFunc(receipt.Files, func(uri string) bool { return named(uri) == backends.EchoFile || named(uri) == lines })
	kept := storage.Join(beside, backends.EchoFile)
	if at < 0 {
		return "", fault.Errorf(fault.Failed,
			"leave --echo out; backends command and tinker can, and a program must be written for it",
			"submit: the trainer gave nothing back: it named no %s and no %s among its files", backends.EchoFile, lines)
	}
	uri := receipt.Files[at]
	if uri == kept {
		return kept, nil
	}
	src, err := OpenScored(ctx, uri)
	if err != nil {
		return "", err
	}
	defer src.Close() // read only
	to, err := storage.Open(ctx, beside)
	if err != nil {
		return "", err
	}
	draft, err := to.Draft(ctx)
	if err != nil {
		return "", err
	}
	defer draft.Discard()
	if named(uri) == lines {
		err = trainers.EchoLines(records.File{Name: uri, R: src, Size: src.Size()}, draft)
	} else {
		_, err = io.Copy(draft, io.NewSectionReader(src, 0, src.Size()))
	}
	if err != nil {
		return "", err
	}
	return kept, draft.Replace(ctx, backends.EchoFile)
}

// OpenScored opens a file that a reward reads. Trainers fill its folder, so a link that leads
// out of that is refused.
func OpenScored(ctx context.Context, uri string) (score.File, error) {
	folder, name := storage.Split(uri)
	b, err := storage.Open(ctx, folder)
	if err != nil {
		return nil, err
	}
	return b.Confined().Open(ctx, name)
}
