package submit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage/fault"
)

// Store stores small records by key; a *storage.Bucket is one. ReadLimited
// returns fs.ErrNotExist for a missing key, and refuses a record over the limit before it reads
// it. Create makes a key that must not exist; of any number of concurrent creators exactly one
// succeeds.
type Store interface {
	ReadLimited(ctx context.Context, key string, limit int64) ([]byte, error)
	Create(ctx context.Context, key string, data []byte) error
	Write(ctx context.Context, key string, data []byte) error
}

// ReadReceipt reads the receipt under submit's --out. A missing one is fs.ErrNotExist.
func ReadReceipt(ctx context.Context, s Store) (*receipts.Receipt, error) {
	data, err := s.ReadLimited(ctx, receipts.File, maxReceipt)
	if err != nil {
		return nil, err
	}
	var r receipts.Receipt
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fault.Invalid(receipts.File, "", err, "is not a receipt")
	}
	if r.Format != receipts.Format {
		return nil, fault.Invalid(receipts.File, "it was written by another version of rollmill", nil,
			"format is %q, want %q", r.Format, receipts.Format)
	}
	compact(&r)
	return &r, nil
}

// compact removes the indentation that storing added to the metric lines.
func compact(r *receipts.Receipt) {
	for i, line := range r.MetricSteps {
		var out bytes.Buffer
		if json.Compact(&out, line) == nil {
			r.MetricSteps[i] = out.Bytes()
		}
	}
}

// trim cuts a receipt's metric lines to the size limit of records: it removes
// those in the middle, and the message says so.
func trim(r *receipts.Receipt) {
	var bytes int
	for _, line := range r.MetricSteps {
		bytes += len(line)
	}
	cut := 0
	for bytes > keepMetrics {
		middle := len(r.MetricSteps) / 2
		bytes -= len(r.MetricSteps[middle])
		r.MetricSteps = slices.Delete(r.MetricSteps, middle, middle+1)
		cut++
	}
	if cut > 0 {
		r.Message = strings.TrimPrefix(fmt.Sprintf("%s; %d metric lines from the middle are left out", r.Message, cut), "; ")
	}
}

// WriteReceipt creates or replaces the receipt.
func WriteReceipt(ctx context.Context, s Store, r *receipts.Receipt) error {
	trim(r)
	return write(ctx, s, receipts.File, r)
}

func write(ctx context.Context, s Store, key string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", key, err)
	}
	return s.Write(ctx, key, append(secret.From(ctx).JSON(data), '\n'))
}
