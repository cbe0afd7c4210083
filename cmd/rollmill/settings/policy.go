package settings

import (
	"context"
	"fmt"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/secret"
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
