package submit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// Keys yields the names under a prefix; a name may occur twice.
type Keys func(ctx context.Context, prefix string) iter.Seq2[string, error]

const ledgerPrefix = ".rollmill/ledger/"

// submissions yields the keys of a ledger, each once.
func (k Keys) submissions(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := map[string]bool{}
		for name, err := range k(ctx, ledgerPrefix) {
			if err != nil {
				yield("", err)
				return
			}
			key, rest, ok := strings.Cut(strings.TrimPrefix(name, ledgerPrefix), "/")
			if !ok || !strings.HasSuffix(rest, ".json") || seen[key] {
				continue
			}
			if seen[key] = true; !yield(key, nil) {
				return
			}
		}
	}
}

func (s *session) keeps() bool { return s.Effect == backends.KeepsBatch }

// checkOthers searches the ledger's other submissions for the same rows. Rows that one policy
// has learnt from are stale for another one, and a wrong --name or --url is the usual cause; the
// same policy with other settings would learn them twice. Only a person can decide that this is
// intended. Targets that only store the rows do not count, on either side, nor do other settings
// of a trainer that makes a new model for each submission.
func (s *session) checkOthers(ctx context.Context) error {
	if s.Keys == nil || s.keeps() {
		return nil
	}
	s.others, s.ofEpoch = nil, nil
	for key, err := range s.Keys.submissions(ctx) {
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		if key == s.ledger.key {
			continue
		}
		a, err := s.other(key).last(ctx)
		if err != nil {
			return err
		}
		if a != nil && s.inPlace() && a.counts() && s.mayBeOfEpoch(a) {
			s.ofEpoch = append(s.ofEpoch, epochClaim{Key: key, Curated: a.Curated, Digest: a.Digest})
		}
		if a == nil || a.Keeps || a.Digest != s.data.RowsDigest.String() || !a.counts() {
			continue
		}
		if a.Target == s.target {
			if err := s.otherSettings(a); err != nil {
				return err
			}
			continue
		}
		s.others = append(s.others, fmt.Sprintf("%s (%s, submission %s)", where(a.Target), a.state(), key))
	}
	if len(s.others) == 0 || s.AllowOther || s.Resubmit {
		return nil
	}
	return fault.Errorf(fault.Person,
		"check the trainer's settings. To train on these rows a second time: --allow-other-trainer",
		"submit: the batch %q was submitted to another trainer before: %s; this one is %s", s.data.URI(),
		strings.Join(s.others, ", "), where(s.target))
}

// checkSettled refuses to settle a submission that the ledger does not have: the batch
// would be sent, to another trainer than the one whose end is unknown.
func (s *session) checkSettled(ctx context.Context) error {
	open := ""
	for key, err := range s.Keys.submissions(ctx) {
		var a *attempt
		if err == nil {
			a, err = s.other(key).last(ctx)
		}
		if err != nil {
			return fmt.Errorf("reading the ledger: %w", err)
		}
		if a != nil && a.damage == nil && a.done == nil && a.counts() && a.Target != s.target &&
			a.Digest == s.data.RowsDigest.String() {
			open = fmt.Sprintf("; the one whose end is unknown went to %s (submission %s)", where(a.Target), key)
		}
	}
	if !s.AssumeTrained && (open == "" || s.AllowOther) {
		return nil
	}
	return fault.Errorf(fault.Usage, "use the --config, --set and flags that the submission had, and add the one flag",
		"submit: there is no submission of the batch %q to %s%s", s.data.URI(), where(s.target), open)
}

// mayBeOfEpoch reports whether an attempt is of the epoch that is submitted, or
// may be: of a damaged one the records that are there decide.
func (s *session) mayBeOfEpoch(a *attempt) bool {
	switch {
	case a.Target.Backend != "":
		return s.sameEpoch(a.Target, a.Run, a.RunID, a.Epoch)
	case a.done != nil && a.done.Receipt != nil && a.done.Receipt.Target != nil:
		r := a.done.Receipt
		return s.sameEpoch(*r.Target, r.Run, r.RunID, r.Epoch)
	}
	return a.damage != nil
}

func (s *session) sameEpoch(target receipts.Target, run, id string, epoch int) bool {
	return target == s.target && epoch == s.Epoch && cmp.Or(id, run) == cmp.Or(s.runID, s.Run)
}

// other returns the ledger's view of another submission.
func (s *session) other(key string) *ledger {
	return &ledger{store: s.Ledger, key: key, me: s.ledger.me, now: s.Clock, ttl: s.LeaseTTL}
}

// otherSettings returns the error about the same rows, submitted to the same
// target before with other settings.
func (s *session) otherSettings(a *attempt) error {
	what := fmt.Sprintf("the batch %q was submitted to %s before with other settings (%s, submission %s): %s",
		s.data.URI(), where(s.target), a.state(), a.Key, s.changed(a))
	switch {
	case s.Resubmit:
	case s.inPlace():
		return fault.Errorf(fault.Usage,
			"repeat the earlier settings to attach to that submission, or begin another run with another --root; to train "+
				"on these rows a second time: --resubmit", "submit: %s", what)
	default:
		s.Logger().Warn(what + "; this makes another model")
	}
	return nil
}

// changed names the settings that differ from those of an attempt.
func (s *session) changed(a *attempt) string {
	if list := a.Settings.Differences(s.settings); len(list) > 0 {
		return strings.Join(list, "; ")
	}
	return "the tables that were submitted with the rows differ"
}

// inPlace reports whether submissions advance one policy.
func (s *session) inPlace() bool { return s.Effect == backends.AdvancesPolicy }

// counts reports whether an attempt may have had an effect.
func (a *attempt) counts() bool {
	switch {
	case a.damage != nil:
		return true
	case a.done != nil:
		return !a.done.Void && a.done.Receipt.State != receipts.JobUntrained
	case a.sent != nil:
		return !a.sent.Void
	}
	return false
}
