package submit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// send makes one attempt after the last one (nil for the first). over is false
// if another process was faster.
func (s *session) send(ctx context.Context, last *attempt) (over bool, err error) {
	if !s.checked {
		if err := s.preflight(ctx); err != nil {
			return true, err
		}
		if err := s.checkOthers(ctx); err != nil {
			return true, err
		}
		s.checked = true
	}
	if err := s.winEpoch(ctx); err != nil {
		return true, err
	}
	in := s.intent(last)
	began := lease.Now()
	won, err := s.ledger.claim(ctx, in)
	if err != nil || !won {
		return err != nil, err
	}
	s.resent = true
	hold := s.ledger.hold(ctx, in, began, s.Logger())
	a := &attempt{intent: in}
	err = s.hand(ctx, a, hold)
	// The records are written even when the command is interrupted.
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return true, errors.Join(err, hold.end(tidy, a.done == nil))
}

func (s *session) intent(last *attempt) intent {
	in := intent{
		Format: ledgerFormat, Key: s.ledger.key, Attempt: 1, Owner: s.ledger.me, Target: s.target, Settings: s.settings,
		Curated: s.data.URI(), Digest: s.data.RowsDigest.String(), Run: s.Run, RunID: s.runID, Epoch: s.Epoch, Stats: s.stats,
		Others: s.others, Keeps: s.keeps(),
		CreatedAt: s.Clock(), Lease: s.LeaseTTL.Seconds(),
	}
	if last != nil {
		in.Attempt, in.Round = last.Attempt+1, last.Round
		if last.damage != nil {
			in.Round, in.Resubmit = max(last.Attempt, 1), fmt.Sprintf("attempt %d, whose records are damaged", last.Attempt)
		} else if end := last.done; s.Resubmit && !s.resent && (!end.Void || end.Settled != "") {
			in.Round++
			in.Resubmit = fmt.Sprintf("attempt %d: %s", last.Attempt, end.Why)
			if end.Receipt != nil {
				in.Resubmit = fmt.Sprintf("attempt %d, which was %s", last.Attempt, end.Receipt.State)
			}
		}
	} else if s.Resubmit {
		in.Resubmit = "nothing in this ledger"
	}
	in.Token = s.ledger.key
	if in.Round > 0 {
		in.Token = fmt.Sprintf("%s-%d", s.ledger.key, in.Round)
	}
	return in
}

// hand sends the batch to the trainer, under a lease.
func (s *session) hand(ctx context.Context, a *attempt, hold *holding) error {
	if err := s.keepEpoch(ctx); err != nil {
		return errors.Join(err, s.void(ctx, a, err.Error()))
	}
	state, err := s.Trainer.Begin(ctx, s.Policy)
	if err != nil {
		return errors.Join(kinded(err), s.void(ctx, a, err.Error()))
	}
	if err := s.guard(state); err != nil {
		return errors.Join(err, s.void(ctx, a, err.Error()))
	}
	if err := hold.renew(ctx); err != nil { // preparing may have taken long
		return s.unrenewed(ctx, a, err)
	}
	a.sent = &sent{Owner: s.ledger.me.ID, Before: state, At: s.Clock()}
	won, err := s.ledger.create(ctx, a.Attempt, "sent", a.sent)
	if err != nil {
		return err
	}
	if !won {
		return fault.Errorf(fault.Temporary, "run the same command again",
			"submit: another process took this submission over")
	}
	if err := hold.recorded(ctx); err != nil {
		return s.unrenewed(ctx, a, err)
	}
	submission := s.submission(a)
	submission.Guard, submission.Owned = hold.guard, func() error { return hold.fence(ctx) }
	log := &jobLog{s: s, ctx: ctx, a: a, meter: s.Meter("submit", "groups", s.stats.Groups)}
	out, err := s.Trainer.Submit(ctx, submission, s.groups(ctx), log.event)
	log.meter.Done()
	if out.Job != "" {
		s.refer(ctx, a, out.Job)
	}
	return s.after(ctx, a, out, err)
}

// unrenewed ends an attempt that has not sent anything yet.
func (s *session) unrenewed(ctx context.Context, a *attempt, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) { // the process was paused, or the store is slow
		err = fault.Errorf(fault.Temporary, "run the same command again", "%w", err)
	}
	return errors.Join(fmt.Errorf("renewing the lease: %w", err), s.void(ctx, a, err.Error()))
}

// after records how the trainer's work ended.
func (s *session) after(ctx context.Context, a *attempt, out backends.Outcome, failure error) error {
	switch {
	case out.State == receipts.JobFailed && out.Clean:
		if failure == nil {
			failure = fault.Errorf(fault.Failed, "", "submit: %s", out.Message)
		}
		err := s.void(ctx, a, out.Message)
		if err == nil && !a.done.Void { // another process found that it was trained
			return s.contradiction(a, out)
		}
		return errors.Join(kinded(failure), err)
	case failure != nil && (out.State == backends.JobUnknown || out.State == ""):
		if ctx.Err() != nil { // the attempt stays open, and the next run asks the trainer
			return fault.Errorf(fault.Temporary, "", "submit: the trainer had the batch, and it is not known yet whether it was trained; "+
				"the same command asks the trainer, and a person if that cannot tell: %w", ctx.Err())
		}
		// Whatever the failure, the batch was sent: only the trainer knows how it ended.
		s.Logger().Warn("the end of the job was not seen; the trainer is asked", "error", failure)
		asked, err := s.follow(ctx, a, backends.Outcome{MetricSteps: out.MetricSteps, Metrics: out.Metrics})
		if err != nil {
			return s.unseen(ctx, errors.Join(failure, err))
		}
		if asked.Message == "" || asked.State == backends.JobUnknown {
			asked.Message = strings.TrimSuffix(failure.Error()+"; "+asked.Message, "; ")
		}
		out = asked
	default:
		asked, err := s.follow(ctx, a, out)
		if err != nil {
			return s.unseen(ctx, err)
		}
		out = asked
	}
	var err error
	a.done, err = s.conclude(context.WithoutCancel(ctx), a, out)
	switch {
	case err != nil || a.done == nil:
		return err
	case a.done.Receipt != nil:
		return s.deliver(context.WithoutCancel(ctx), a.done.Receipt)
	case out.State == receipts.JobFailed && out.Clean:
		return fault.Errorf(fault.Failed, "run the same command again", "submit: nothing was trained: %s", a.done.Why)
	}
	return s.contradiction(a, out)
}

// contradiction returns the error of an attempt for which this process and another that took it
// over saw different ends. That must never look like success.
func (s *session) contradiction(a *attempt, out backends.Outcome) error {
	ended := "that nothing was trained: " + a.done.Why
	if a.done.Receipt != nil {
		ended = "as " + a.done.Receipt.State
	}
	return fault.Errorf(fault.Person,
		"check the trainer's log and checkpoints: the batch may have been trained twice, or the ledger may be wrong about it",
		"submit: attempt %d of %s was taken over while this process was suspended; the other process recorded %s, and here "+
			"the trainer said %s: %s", a.Attempt, a.Key, ended, out.State, out.Message)
}

func (s *session) void(ctx context.Context, a *attempt, why string) error {
	end, err := s.ledger.finish(context.WithoutCancel(ctx), a.Attempt, done{Void: true, Why: why})
	a.done = end
	return err
}

// refer records the trainer's reference, once.
func (s *session) refer(ctx context.Context, a *attempt, reference string) {
	if a.job != nil {
		return
	}
	a.job = &job{Owner: s.ledger.me.ID, Job: reference}
	if _, err := s.ledger.create(context.WithoutCancel(ctx), a.Attempt, "job", a.job); err != nil {
		s.Logger().Warn("the job's reference was not recorded", "job", reference, "error", err)
	}
}

// jobLog logs the events of a job. A trainer may report from the goroutine that
// sends as well as from the one that listens.
type jobLog struct {
	s     *session
	ctx   context.Context
	a     *attempt
	meter *stages.Meter

	mu            sync.Mutex
	groups, lines int64
}

func (l *jobLog) event(e backends.JobEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Sent > l.groups {
		l.meter.Add(e.Sent - l.groups)
		l.groups = e.Sent
	}
	if e.Job != "" {
		l.s.refer(l.ctx, l.a, e.Job)
	}
	if e.Metrics != nil {
		l.lines++
		l.meter.Note(fmt.Sprintf("training, %d steps", l.lines))
		l.s.Logger().Debug("training", "metrics", string(e.Metrics))
	}
	if e.Note != "" {
		l.s.Logger().Warn(e.Note)
	}
}
