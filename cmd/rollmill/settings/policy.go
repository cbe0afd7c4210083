package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/secret"
	layout "github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Policy returns the policy in the receipt at uri, or nil if uri is "".
func Policy(ctx context.Context, uri string) (*receipts.Policy, error) {
	if uri == "" {
		return nil, nil
	}
	receipt, err := ReceiptAt(ctx, uri)
	if err != nil {
		return nil, err
	}
	if receipt.Policy == nil {
		return nil, fault.Invalid(storage.Redact(uri), "name the engine with --url and --model", nil,
			"the receipt (state %s) names no policy", receipt.State)
	}
	redaction.AddInPath(secret.From(ctx), "policy", receipt.Policy.URL, true) // older receipts hold what is redacted now
	return receipt.Policy, nil
}

// ReceiptFolder returns the folder of a receipt, which may be named itself.
func ReceiptFolder(uri string) string {
	if folder, name := storage.Split(uri); name == receipts.File {
		return folder
	}
	return uri
}

func ReceiptAt(ctx context.Context, uri string) (*receipts.Receipt, error) {
	bucket, err := storage.Open(ctx, ReceiptFolder(uri))
	if err != nil {
		return nil, cli.Usagef("", "--policy: %w", err)
	}
	receipt, err := submit.ReadReceipt(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("--policy %q: %w", storage.Redact(uri), err)
	}
	return receipt, nil
}

// WarnSuperseded warns if the receipt at uri names an older policy by a name that
// stands for a newer one now: a trainer that advances the served policy may serve
// it under one name, and the name is all that an engine is asked for.
func WarnSuperseded(ctx context.Context, s *cli.Session, uri string, p *receipts.Policy) {
	later, newer := nextReceipt(ctx, uri, p.Version)
	if newer == nil || newer.URL != p.URL || newer.Model != p.Model || strings.Contains(p.Model, "@") {
		return
	}
	s.Logger().Warn(fmt.Sprintf("the engine may answer with newer weights than version %d, which the rows will name: the "+
		"run has trained version %d since, under the same model name; "+
		"if the engine serves names with a version, add --set rollout.model=%s@%d", p.Version, newer.Version, p.Model,
		p.Version), "policy", storage.Redact(uri), "later", storage.Redact(later))
}

// nextReceipt returns the first receipt after the one at uri whose policy has another
// version; nil if there is none, or if uri is not in a run.
func nextReceipt(ctx context.Context, uri string, version int64) (string, *receipts.Policy) {
	root, next := storage.Split(uri)
	e := 0
	if next == "submit" {
		var folder string
		root, folder = storage.Split(root)
		if _, err := fmt.Sscanf(folder, "epoch-%d", &e); err != nil {
			return "", nil
		}
		e++
	}
	epochs, err := EpochsAt(ctx, root)
	if err != nil { // this is only for a warning
		return "", nil
	}
	at, _ := slices.BinarySearch(epochs, e)
	for _, e := range epochs[at:] {
		later := layout.Layout{Root: root}.Stage(e, "submit")
		receipt, err := ReceiptAt(ctx, later)
		if err == nil && receipt.Policy != nil && receipt.Policy.Version != version {
			return later, receipt.Policy
		}
	}
	return "", nil
}

// EpochsAt returns the epochs that have a folder in a run.
func EpochsAt(ctx context.Context, root string) ([]int, error) {
	bucket, err := storage.Open(ctx, root)
	if err != nil {
		return nil, err
	}
	return runroot.Epochs(ctx, bucket)
}
