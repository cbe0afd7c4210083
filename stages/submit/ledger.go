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
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// The ledger holds, for each submission, its attempts in order:
//
//	.rollmill/ledger/<key>/<attempt>/intent.json  create-only: the process that will send the batch
//	                                 lease.json   rewritten while the owner is alive
//	                                 sent.json    create-only: written before anything is sent
//	                                 taken.json   create-only: the owner is silent, and another process takes over
//	                                 job.json     create-only: the trainer's reference to the job
//	                                 done.json    create-only: how it ended
//
// If the owner dies after it wrote:
//
//	nothing     the next run begins as if there had been none.
//	intent      nothing was sent. The next run creates sent.json in the
//	            owner's place, so that an owner that was only suspended can
//	            no longer send, and begins a new attempt.
//	sent        the batch may have arrived. The next run creates taken.json,
//	            which a suspended owner checks before it sends, and asks the
//	            trainer. If the trainer does not know, a person has to decide.
//	taken       the next run asks the trainer too. The first process to end
//	            the attempt decides.
//	job         the next run follows the job.
//	done        the next run returns the same receipt.
//
// Deleted records are noticed by the others: one that presupposes another, a
// heartbeat that says that sent.json exists, a receipt at --out whose attempt or
// end is missing, and submissions of an epoch without its record in epochs/. One
// record or two may be gone, and nothing is trained twice; only an attempt that is
// open and lost both sent.json and lease.json looks as if nothing was sent.
//
// A further attempt begins only when the last one is void (certainly nothing
// was trained), or with --resubmit. No decision compares the clocks of two
// machines: see lease.go. Which submission may train an epoch is in epoch.go.
type ledger struct {
	store Store
	key   string
	me    lease.Owner
	now   func() time.Time
	ttl   time.Duration
}

// Key identifies a submission: the same rows with the same settings for the same target and
// model have the same key, whenever and wherever they are submitted. The digest also covers the
// tables that the target uses. Settings and target are as stored, without secrets.
func Key(digest string, settings backends.Identity, target receipts.Target) string {
	data, _ := json.Marshal(struct {
		Digest   string
		Settings backends.Identity
		Target   receipts.Target
	}{digest, settings, target})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

const ledgerFormat = "rollmill-ledger/2"

type intent struct {
	Format   string              `json:"format"`
	Key      string              `json:"key"`
	Attempt  int                 `json:"attempt"`
	Round    int                 `json:"round"` // how often the batch was sent again on purpose
	Token    string              `json:"token"`
	Owner    lease.Owner         `json:"owner"`
	Target   receipts.Target     `json:"target"`
	Settings backends.Identity   `json:"settings,omitempty"`
	Curated  string              `json:"curated"`
	Digest   string              `json:"curated_digest"`
	Run      string              `json:"run,omitempty"`
	RunID    string              `json:"run_id,omitempty"`
	Epoch    int                 `json:"epoch"`
	Stats    backends.BatchStats `json:"load"`
	Resubmit string              `json:"resubmit,omitempty"` // the attempt that it repeats
	// other trainers that it was submitted to before, allowed by a flag
	Others    []string  `json:"elsewhere,omitempty"`
	Keeps     bool      `json:"keeps,omitempty"` // the target trains nothing
	CreatedAt time.Time `json:"created_at"`
	Lease     float64   `json:"lease_seconds"`     // how long its owner may go without a heartbeat
	Assumes   bool      `json:"assumes,omitempty"` // it sends nothing: it ends an attempt whose records are damaged
}

type sent struct {
	Owner  string                `json:"owner"`
	Void   bool                  `json:"void,omitempty"` // created in a dead owner's place: nothing was sent or will be sent
	Before backends.TrainerState `json:"before"`
	At     time.Time             `json:"at"`
}

type taken struct {
	Owner string    `json:"owner"`
	At    time.Time `json:"at"`
}

type job struct {
	Owner string `json:"owner"`
	Job   string `json:"job"`
}

type done struct {
	Owner   string            `json:"owner"`
	Void    bool              `json:"void,omitempty"` // nothing was trained; the batch may be sent again
	Why     string            `json:"why,omitempty"`
	Settled string            `json:"settled,omitempty"` // the flag by which a person settled it
	Receipt *receipts.Receipt `json:"receipt,omitempty"`
	At      time.Time         `json:"at"`
}

type attempt struct {
	intent
	lease *heartbeat
	sent  *sent
	taken *taken
	job   *job
	done  *done

	damage *damage // of any record; then none of them is used
}

func (l *ledger) path(n int, record string) string {
	return fmt.Sprintf(".rollmill/ledger/%s/%d/%s.json", l.key, n, record)
}

// Holds reports whether a ledger has a submission.
func Holds(ctx context.Context, store Store, key string) (bool, error) {
	l := ledger{store: store, key: key}
	_, err := store.ReadLimited(ctx, l.path(1, "intent"), maxRecord)
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

// last loads the newest attempt; nil if there is none. Of a damaged attempt only
// the key, the number and the damage are valid.
func (l *ledger) last(ctx context.Context) (*attempt, error) {
	var newest *attempt
	for n := 1; ; n++ {
		data, err := l.store.ReadLimited(ctx, l.path(n, "intent"), maxRecord)
		if err != nil && !missing(err) {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		a := &attempt{}
		switch {
		case err == nil:
			if a.damage = parse(l.path(n, "intent"), data, &a.intent); a.damage == nil && (a.Key != l.key || a.Attempt != n) {
				a.damage = &damage{l.path(n, "intent"), fmt.Sprintf("it is of attempt %d of %q", a.Attempt, a.Key)}
			}
		case !l.remains(ctx, n):
			if newest == nil {
				return nil, nil
			}
			return newest, l.records(ctx, newest)
		default:
			a.damage = &damage{l.path(n, "intent"), "it is missing, and later ones are there"}
		}
		a.Key, a.Attempt = l.key, n
		newest = a
	}
}

// remains reports whether an attempt without an intent has other records: one
// that began, and whose intent was deleted. Without an answer it has.
func (l *ledger) remains(ctx context.Context, n int) bool {
	return slices.ContainsFunc([]string{"done", "sent", "job", "taken", "lease"}, func(record string) bool {
		_, err := l.store.ReadLimited(ctx, l.path(n, record), maxReceipt)
		return !missing(err)
	})
}

func (l *ledger) records(ctx context.Context, a *attempt) error {
	n := a.Attempt
	err := errors.Join(
		load(ctx, l, n, "lease", &a.lease, a), load(ctx, l, n, "sent", &a.sent, a), load(ctx, l, n, "taken", &a.taken, a),
		load(ctx, l, n, "job", &a.job, a), load(ctx, l, n, "done", &a.done, a))
	a.contradicts(l)
	if a.done != nil && a.done.Receipt != nil {
		compact(a.done.Receipt)
	}
	return err
}

// unrecorded returns what is missing of the attempt that a receipt describes; nil if the ledger
// has it. A receipt is only written after the record of what it says.
func (l *ledger) unrecorded(ctx context.Context, r *receipts.Receipt) (*damage, error) {
	if r.State == receipts.JobNothing || r.State == receipts.JobPrepared {
		return nil, nil
	}
	for n := 1; ; n++ {
		data, err := l.store.ReadLimited(ctx, l.path(n, "intent"), maxRecord)
		switch {
		case missing(err) && l.remains(ctx, n):
			continue
		case missing(err):
			return &damage{l.path(1, "intent"), "it is missing, and the receipt says that the batch was " + r.State}, nil
		case err != nil:
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		a := attempt{}
		if a.damage = parse(l.path(n, "intent"), data, &a.intent); a.damage != nil || !a.CreatedAt.Equal(r.StartedAt) {
			continue
		}
		if err := l.records(ctx, &a); err != nil {
			return nil, err
		}
		switch {
		case a.damage != nil:
			return a.damage, nil
		case ended(r) && (a.done == nil || a.done.Receipt == nil):
			return &damage{l.path(n, "done"), "it is missing, and the receipt says that the batch was " + r.State}, nil
		case a.sent == nil || a.sent.Void:
			return &damage{l.path(n, "sent"), "it is missing, and the receipt says that the batch was " + r.State}, nil
		}
		return nil, nil
	}
}

// contradicts sets the damage of an attempt whose records exclude each other.
func (a *attempt) contradicts(l *ledger) {
	what, record := "", "done"
	switch {
	case a.damage != nil:
	case a.Assumes && (a.done == nil || a.done.Void):
		what, record = "--assume-trained did not finish, and the attempt before this one is damaged", "intent"
	case a.done != nil && a.done.Receipt != nil && a.sent == nil, a.job != nil && a.sent == nil,
		a.sent == nil && a.lease != nil && a.lease.Sent:
		what, record = "it is missing, and later ones are there", "sent"
	case a.done != nil && a.done.Receipt != nil && a.done.Receipt.Key != a.Key:
		what = "its receipt is of the submission " + a.done.Receipt.Key
	case a.done != nil && a.done.Receipt != nil && a.sent.Void:
		what = "it has a receipt, and nothing was sent"
	}
	if what != "" {
		a.damage = &damage{l.path(a.Attempt, record), what}
	}
}

// load reads one record of an attempt, if it exists. A damaged record sets the attempt's damage.
// A damaged lease counts as missing, because a lease decides nothing permanently.
func load[T any, R interface {
	*T
	record
}](ctx context.Context, l *ledger, n int, name string, into *R, a *attempt) error {
	limit := int64(maxRecord)
	if name == "done" {
		limit = maxReceipt
	}
	data, err := l.store.ReadLimited(ctx, l.path(n, name), limit)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	var v T
	wrong := parse(l.path(n, name), data, R(&v))
	switch {
	case wrong == nil:
		*into = &v
	case name != "lease" && a.damage == nil:
		a.damage = wrong
	}
	return nil
}

// create writes a record that must not exist and reports whether this call
// created it. If the store's answer is lost, it reads the record to find out.
func (l *ledger) create(ctx context.Context, n int, record string, v any) (bool, error) {
	return l.createAt(ctx, l.path(n, record), v)
}

func (l *ledger) createAt(ctx context.Context, key string, v any) (bool, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return false, fmt.Errorf("writing the ledger: %w", err)
	}
	data = append(secret.From(ctx).JSON(data), '\n')
	created := l.store.Create(ctx, key, data)
	if created == nil {
		return true, nil
	}
	there, err := l.store.ReadLimited(ctx, key, maxReceipt)
	switch {
	case err == nil:
		return bytes.Equal(there, data), nil
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("writing the ledger: %w", created)
	}
	return false, fmt.Errorf("writing the ledger: %w", errors.Join(created, err))
}

// claim makes this process the owner of a new attempt, or reports that another
// was faster. It then tries to create the same record again: a store that
// allows that cannot tell two owners from each other.
func (l *ledger) claim(ctx context.Context, in intent) (bool, error) {
	won, err := l.create(ctx, in.Attempt, "intent", in)
	if err != nil || !won {
		return false, err
	}
	own, err := l.store.ReadLimited(ctx, l.path(in.Attempt, "intent"), maxRecord)
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	refused := l.store.Create(ctx, l.path(in.Attempt, "intent"), append([]byte(" "), own...))
	now, err := l.store.ReadLimited(ctx, l.path(in.Attempt, "intent"), maxRecord)
	if err != nil {
		return false, fmt.Errorf("reading the ledger: %w", err)
	}
	if refused == nil || !bytes.Equal(now, own) {
		return false, fault.Errorf(fault.Usage,
			"keep the ledger on a local disk, or in a store with conditional writes: --ledger URI",
			"submit: the ledger's store overwrites a record that must only be created: it cannot keep a batch from being "+
				"trained twice")
	}
	return true, nil
}

// finish ends an attempt. If several processes end it, the first one's record
// counts and is returned.
func (l *ledger) finish(ctx context.Context, n int, d done) (*done, error) {
	if d.Receipt != nil {
		trim(d.Receipt)
	}
	d.Owner, d.At = l.me.ID, l.now()
	won, err := l.create(ctx, n, "done", d)
	if err != nil || won {
		return &d, err
	}
	var other *done
	var a attempt
	if err := load(ctx, l, n, "done", &other, &a); err != nil {
		return nil, err
	}
	if a.damage != nil {
		return nil, fault.Errorf(fault.Person, "put the record back from a backup, or look at the trainer",
			"submit: the ledger is damaged: %w", a.damage)
	}
	return other, nil
}
