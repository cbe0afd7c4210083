package submit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
)

// The ledger holds, for each batch, its attempts in order:
//
//	.rollmill/ledger/<key>/<attempt>/intent.json  create-only: who means to send it
//	                                 lease.json   renewed while the owner lives
//	                                 sent.json    create-only: nothing was sent before it is there
//	                                 job.json     create-only: the trainer's reference
//	                                 done.json    create-only: how it ended
//
// What if the owner dies after...
//
//	nothing     no trace; the next run begins.
//	intent      nothing was sent. The next run creates sent.json in the
//	            owner's place, so that an owner that only slept cannot send
//	            any more, and begins a new attempt.
//	sent        the batch may have arrived. The trainer is asked; where it
//	            cannot tell, a person has to.
//	job         the next run follows the job.
//	done        the next run returns the same receipt.
//
// An attempt that is void (nothing was trained, for certain) makes room for
// the next; any other end is the end, unless --resubmit.
type ledger struct {
	store Store
	key   string
	me    owner
	now   func() time.Time
	ttl   time.Duration
}

// Key names a batch for a target: the same rows, target and model have the
// same key whenever and wherever they are submitted. The digest covers the
// tables beside the rows too, where the target uses any.
func Key(digest string, target formats.Target) string {
	data, _ := json.Marshal(struct {
		Digest string
		Target formats.Target
	}{digest, target})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

const ledgerFormat = "rollmill-ledger/1"

type intent struct {
	Format    string         `json:"format"`
	Key       string         `json:"key"`
	Attempt   int            `json:"attempt"`
	Round     int            `json:"round"` // how often the batch was sent anew on purpose
	Token     string         `json:"token"`
	Owner     owner          `json:"owner"`
	Target    formats.Target `json:"target"`
	Curated   string         `json:"curated"`
	Digest    string         `json:"curated_digest"`
	Run       string         `json:"run,omitempty"`
	Epoch     int            `json:"epoch"`
	Load      formats.Load   `json:"load"`
	Resubmit  string         `json:"resubmit,omitempty"`  // what it was sent again after
	Elsewhere []string       `json:"elsewhere,omitempty"` // where it had been submitted before, which was no hindrance
	Keeps     bool           `json:"keeps,omitempty"`     // the target trains nothing
	CreatedAt time.Time      `json:"created_at"`
	Expires   time.Time      `json:"expires"` // the first lease
}

type sent struct {
	Owner  string           `json:"owner"`
	Void   bool             `json:"void,omitempty"` // created in a dead owner's place: nothing was or will be sent
	Before formats.Standing `json:"before"`
	At     time.Time        `json:"at"`
}

type job struct {
	Owner string `json:"owner"`
	Job   string `json:"job"`
}

type done struct {
	Owner   string           `json:"owner"`
	Void    bool             `json:"void,omitempty"` // nothing was trained; the batch may be sent again
	Why     string           `json:"why,omitempty"`
	Settled string           `json:"settled,omitempty"` // the flag with which somebody settled it
	Receipt *formats.Receipt `json:"receipt,omitempty"`
	At      time.Time        `json:"at"`
}

type attempt struct {
	intent
	lease *lease
	sent  *sent
	job   *job
	done  *done
}

func (l *ledger) path(n int, record string) string {
	return fmt.Sprintf(".rollmill/ledger/%s/%d/%s.json", l.key, n, record)
}

// last loads the newest attempt; nil when there is none.
func (l *ledger) last(ctx context.Context) (*attempt, error) {
	var a *attempt
	for n := 1; ; n++ {
		var next attempt
		found, err := read(ctx, l.store, l.path(n, "intent"), &next.intent)
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		if !found {
			break
		}
		if next.Format != ledgerFormat {
			return nil, formats.Invalid(l.path(n, "intent"), "another version of rollmill wrote it", nil, "format is %q, want %q", next.Format, ledgerFormat)
		}
		a = &next
	}
	if a == nil {
		return nil, nil
	}
	err := errors.Join(
		load(ctx, l, a.Attempt, "lease", &a.lease), load(ctx, l, a.Attempt, "sent", &a.sent),
		load(ctx, l, a.Attempt, "job", &a.job), load(ctx, l, a.Attempt, "done", &a.done))
	if a.done != nil && a.done.Receipt != nil {
		compact(a.done.Receipt)
	}
	return a, err
}

func load[T any](ctx context.Context, l *ledger, n int, record string, into **T) error {
	var v T
	found, err := read(ctx, l.store, l.path(n, record), &v)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	if found {
		*into = &v
	}
	return nil
}

// create makes a record that must not exist and tells whether this call did.
// A store's answer that got lost is no failure: the record itself tells.
func (l *ledger) create(ctx context.Context, n int, record string, v any) (bool, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return false, fmt.Errorf("writing the ledger: %w", err)
	}
	data = append(secret.From(ctx).JSON(data), '\n')
	key := l.path(n, record)
	created := l.store.Create(ctx, key, data)
	if created == nil {
		return true, nil
	}
	there, err := l.store.Read(ctx, key)
	switch {
	case err == nil:
		return bytes.Equal(there, data), nil
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("writing the ledger: %w", created)
	}
	return false, fmt.Errorf("writing the ledger: %w", errors.Join(created, err))
}

// claim makes this process the owner of a new attempt, or tells that another
// was faster. It then tries to create the same record again: a store that
// allows that cannot keep two owners apart.
func (l *ledger) claim(ctx context.Context, in intent) (bool, error) {
	won, err := l.create(ctx, in.Attempt, "intent", in)
	if err != nil || !won {
		return false, err
	}
	mine, err := l.store.Read(ctx, l.path(in.Attempt, "intent"))
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	refused := l.store.Create(ctx, l.path(in.Attempt, "intent"), append([]byte(" "), mine...))
	now, err := l.store.Read(ctx, l.path(in.Attempt, "intent"))
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	if refused == nil || !bytes.Equal(now, mine) {
		return false, stages.Errorf(stages.KindUsage, "keep the ledger on a local disk, or in a store with conditional writes: --ledger URI",
			"submit: the ledger's store overwrites a record that must only be created: it cannot keep a batch from being trained twice")
	}
	return true, nil
}

// finish ends an attempt. Of several enders the first one's record stands and
// is returned.
func (l *ledger) finish(ctx context.Context, n int, d done) (*done, error) {
	d.Owner, d.At = l.me.ID, l.now()
	won, err := l.create(ctx, n, "done", d)
	if err != nil || won {
		return &d, err
	}
	var other *done
	if err := load(ctx, l, n, "done", &other); err != nil {
		return nil, err
	}
	return other, nil
}
