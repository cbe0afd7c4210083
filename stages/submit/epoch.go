package submit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// An epochClaim is a record of the submission that may train an epoch. Where
// submissions advance one policy, an epoch of a run trains it once, whatever its
// rows: a dataset that was made again with other rules is still the same epoch.
//
//	.rollmill/epochs/<target, run, epoch>/<n>.json  create-only: which submission may train the epoch
//
// The newest record names the holder. Another submission may add a record when
// everything that the earlier holders sent is void. A holder checks twice: it
// adds its record and then reads the others' attempts (winEpoch); it creates
// its intent and then checks whether its record is the newest (keepEpoch). So
// if two do both at the same moment, at least one sees the other and stops.
//
// If the owner dies after it wrote:
//
//	its record   nothing was sent, and the holder has no attempt. The next
//	             submission adds its own record.
//	the intent   as in ledger.go: the attempt has to be void first.
type epochClaim struct {
	Format    string            `json:"format"`
	Key       string            `json:"key"` // of the submission
	Owner     lease.Owner       `json:"owner"`
	Target    receipts.Target   `json:"target"`
	Run       string            `json:"run"`
	RunID     string            `json:"run_id,omitempty"`
	Epoch     int               `json:"epoch"`
	Curated   string            `json:"curated"`
	Digest    string            `json:"curated_digest"`
	Settings  backends.Identity `json:"settings,omitempty"`
	Resubmit  string            `json:"resubmit,omitempty"` // the earlier holder, which --resubmit overruled
	CreatedAt time.Time         `json:"created_at"`
}

const epochFormat = "rollmill-epoch/1"

func (c *epochClaim) check() string {
	return lacks(c.Format != epochFormat || c.Key == "", "it does not say which submission trains the epoch")
}

// epochKey names an epoch of a run for a target. A run is known by its random
// id or, if a dataset has none, by its name.
func (s *session) epochKey(n int) string {
	data, _ := json.Marshal(struct {
		Target receipts.Target
		Run    string
		Epoch  int
	}{s.target, cmp.Or(s.runID, s.Run), s.Epoch})
	sum := sha256.Sum256(data)
	return fmt.Sprintf(".rollmill/epochs/%s/%d.json", hex.EncodeToString(sum[:16]), n)
}

// claims returns an epoch's records, the oldest first.
func (s *session) claims(ctx context.Context) ([]epochClaim, error) {
	var out []epochClaim
	for n := 1; ; n++ {
		key := s.epochKey(n)
		data, err := s.Ledger.ReadLimited(ctx, key, maxRecord)
		if missing(err) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the ledger: %w", err)
		}
		var c epochClaim
		if wrong := parse(key, data, &c); wrong != nil {
			if !s.Resubmit {
				return nil, fault.Errorf(fault.Person,
					"put the record back from a backup; or look at the trainer, and if epoch "+fmt.Sprint(s.Epoch)+
						" was not trained, use --resubmit", "submit: the ledger is damaged: %w", wrong)
			}
			c = epochClaim{}
		}
		out = append(out, c)
	}
}

// winEpoch makes this submission the one that trains its epoch, or returns an
// error that names the other.
func (s *session) winEpoch(ctx context.Context) error {
	if !s.inPlace() {
		return nil
	}
	for {
		list, err := s.claims(ctx)
		if err != nil {
			return err
		}
		// Those that the ledger has and no record of the epoch: it was deleted.
		before, err := s.earlier(ctx, append(s.ofEpoch[:len(s.ofEpoch):len(s.ofEpoch)], list...))
		if err != nil {
			return err
		}
		if len(list) > 0 && list[len(list)-1].Key == s.ledger.key {
			return nil
		}
		c := epochClaim{Format: epochFormat, Key: s.ledger.key, Owner: s.ledger.me, Target: s.target, Run: s.Run,
			RunID: s.runID, Epoch: s.Epoch,
			Curated: s.data.URI(), Digest: s.data.RowsDigest.String(), Settings: s.settings, Resubmit: before,
			CreatedAt: s.Clock()}
		// Whether it won or lost, the others' attempts are read again, now that
		// the record exists.
		if _, err := s.ledger.createAt(ctx, s.epochKey(len(list)+1), c); err != nil {
			return err
		}
	}
}

// earlier returns the key of the newest other submission that trained the epoch or may have; ""
// if there is none. Without --resubmit such a submission is an error.
func (s *session) earlier(ctx context.Context, list []epochClaim) (string, error) {
	before := ""
	for _, c := range list {
		if c.Key == s.ledger.key || c.Key == "" {
			continue
		}
		free, err := s.epochFree(ctx, c)
		if err != nil {
			return "", err
		}
		if !free {
			before = c.Key
		}
	}
	return before, nil
}

// epochTaken is winEpoch without adding a record.
func (s *session) epochTaken(ctx context.Context) error {
	if !s.inPlace() {
		return nil
	}
	list, err := s.claims(ctx)
	if err == nil {
		_, err = s.earlier(ctx, append(list, s.ofEpoch...))
	}
	return err
}

// keepEpoch runs after the intent was created: another submission that took the
// epoch in the meantime has not seen this attempt, and may send.
func (s *session) keepEpoch(ctx context.Context) error {
	if !s.inPlace() {
		return nil
	}
	list, err := s.claims(ctx)
	if err != nil {
		return err
	}
	if n := len(list); n == 0 || list[n-1].Key != s.ledger.key {
		return fault.Errorf(fault.Temporary, "run the same command again",
			"submit: another submission took epoch %d meanwhile", s.Epoch)
	}
	return nil
}

// epochFree reports whether an earlier holder of the epoch certainly trained nothing. If it may
// have trained, and --resubmit does not overrule it, that is an error.
func (s *session) epochFree(ctx context.Context, c epochClaim) (bool, error) {
	a, err := s.other(c.Key).last(ctx)
	if err != nil || a == nil {
		return a == nil, err
	}
	if a.damage == nil && a.done == nil && a.Target == s.target && !s.DryRun {
		if a, err = s.settleOther(ctx, a); err != nil {
			return false, err
		}
	}
	switch {
	case a.damage != nil && !s.Resubmit:
		return false, s.damaged(a)
	case a.damage == nil && !a.counts():
		return true, nil
	case s.Resubmit:
		return false, nil
	case a.Digest == s.data.RowsDigest.String():
		return false, s.otherSettings(a)
	}
	return false, fault.Errorf(fault.Person,
		"an epoch trains a policy once. Check --in and --epoch. To train on this dataset too: --resubmit",
		"submit: epoch %d of the run %q was submitted to %s before, with other rows: %q (%s, submission %s); this is %q",
		s.Epoch, s.Run, where(s.target), c.Curated, a.state(), c.Key, s.data.URI())
}

// settleOther finds out how another submission of the epoch ended. The trainer
// is the same, so it can be asked.
func (s *session) settleOther(ctx context.Context, a *attempt) (*attempt, error) {
	o := *s
	o.ledger, o.Resubmit, o.AssumeTrained = s.other(a.Key), false, false
	o.settings, o.Wait = a.Settings, false
	o.Receipt, o.result, o.Out = noReceipt{}, Result{}, "THE --out OF THAT SUBMISSION"
	end, err := o.settle(ctx, a)
	var staged *fault.Error
	if err != nil && !(s.Resubmit && errors.As(err, &staged) && staged.Kind == fault.Person) {
		return nil, fmt.Errorf("epoch %d was submitted before, as %q (submission %s): %w", s.Epoch, a.Curated, a.Key, err)
	}
	if err != nil || end == nil { // it is running
		return a, nil
	}
	settled := *a
	settled.done = end
	return &settled, nil
}

// assume records a submission with damaged records as trained, because a person confirmed it.
func (s *session) assume(ctx context.Context, damaged *attempt) error {
	in := s.intent(damaged)
	in.Assumes = true
	won, err := s.ledger.claim(ctx, in)
	if err != nil || !won {
		return err
	}
	state, err := s.Trainer.Begin(ctx, s.Policy)
	if err != nil {
		return kinded(err)
	}
	a := &attempt{intent: in, sent: &sent{Owner: s.ledger.me.ID, Before: state, At: s.Clock()}}
	if _, err := s.ledger.create(ctx, a.Attempt, "sent", a.sent); err != nil {
		return err
	}
	end, err := s.conclude(ctx, a, backends.Outcome{State: backends.JobUnknown, Message: damaged.damage.Error()})
	if err != nil || end.Receipt == nil {
		return err
	}
	return s.deliver(ctx, end.Receipt)
}
