package dataset

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
)

// Failures keeps what programs said when they failed, such as a traceback, beside the
// rows that hold only its last line: one create-only object for each message.
type Failures struct {
	bucket  *storage.Bucket
	secrets *secret.Set

	mu   sync.Mutex
	kept map[string]bool
}

// A dataset keeps this many texts for each time that a shard was begun, and of each
// this many bytes, its end.
const (
	maxFailures = 100
	maxFailure  = 64 << 10
)

func NewFailures(b *storage.Bucket, s *secret.Set) *Failures {
	return &Failures{bucket: b, secrets: s, kept: map[string]bool{}}
}

// Keep stores the whole text of a failure, without secrets, unless one with the same
// message is there. The message is a row's error. It is safe for concurrent use.
func (f *Failures) Keep(ctx context.Context, message, text string) error {
	key := failureKey(message)
	f.mu.Lock()
	known := f.kept[key] || len(f.kept) >= maxFailures
	if !known {
		f.kept[key] = true
	}
	f.mu.Unlock()
	if known {
		return nil
	}
	text = strings.ToValidUTF8(text[max(0, len(text)-maxFailure):], "")
	err := f.bucket.Create(ctx, key, []byte(f.secrets.Redact(text)))
	if errors.Is(err, storage.ErrExist) {
		return nil
	}
	return err
}

// Failure returns the whole text of the failure whose message is a row's error, "" if
// none was kept.
func (d *Dataset) Failure(ctx context.Context, message string) (string, error) {
	if message == "" {
		return "", nil
	}
	data, err := d.Bucket.ReadLimited(ctx, failureKey(message), 2*maxFailure)
	if errors.Is(err, storage.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

func failureKey(message string) string {
	return manifest.Private + "failures/" + manifest.ShortSum([]byte(message), 8) + ".txt"
}
