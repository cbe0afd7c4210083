package submit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// JobOptions identify an earlier submission, made on any machine, by its
// receipt or its key. The ledger has its state.
type JobOptions struct {
	stages.Env

	Key     string // of the submission; default: that of the receipt
	Out     string // URI of the receipt's prefix, for reports
	Receipt Store  // nil: no receipt is read or written
	Ledger  Store
	Trainer backends.Trainer // the trainer that it was submitted to

	Wait         bool          // follow the job to its end
	Cancel       bool          // first ask the trainer to cancel it
	PollInterval time.Duration // default 10s
	Timeout      time.Duration // of waiting; 0 for none
	Stall        time.Duration // as of Options
	LeaseTTL     time.Duration // default 60s
}

// Job looks up a submission and updates its receipt. It sends no batch. A job
// that failed is an error, with a complete result, only if it was waited for.
func Job(ctx context.Context, o JobOptions) (Result, error) {
	if o.Ledger == nil || o.Trainer == nil || o.Receipt == nil && o.Key == "" {
		return Result{}, fault.Errorf(fault.Usage, "name the submission: --in URI of its receipt, or --key",
			"job: no submission")
	}
	s := newJobSession(ctx, o)
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout,
			fault.Errorf(fault.Temporary, "run the same command again", "job: gave up after %s", o.Timeout))
		defer cancel()
	}
	err := s.job(ctx, o.Cancel)
	s.result.Seconds = o.Clock().Sub(s.began).Seconds()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s.result, err
}

func newJobSession(ctx context.Context, o JobOptions) *session {
	s := &session{Options: Options{
		Env: o.Env, Out: o.Out, Receipt: o.Receipt, Ledger: o.Ledger, Trainer: o.Trainer,
		Wait: o.Wait, PollInterval: o.PollInterval, Stall: o.Stall, LeaseTTL: o.LeaseTTL,
	}.withDefaults(), Description: o.Trainer.Describe(), target: stored(ctx, o.Trainer.Target()), began: o.Clock(), patient: o.Wait}
	if s.Receipt == nil {
		s.Receipt = noReceipt{}
	}
	s.ledger = &ledger{store: o.Ledger, key: o.Key, me: lease.Self(), now: o.Clock, ttl: s.LeaseTTL}
	s.result.Report = stages.Report{Stage: "job", URI: o.Out, Sealed: true}
	return s
}

func (s *session) job(ctx context.Context, cancel bool) error {
	receipt, err := s.named(ctx)
	if err != nil {
		return err
	}
	s.result.Identity = s.ledger.key
	a, err := s.ledger.last(ctx)
	switch {
	case err != nil:
		return err
	case a == nil && receipt != nil: // nothing was sent, or it is another ledger
		s.result.Attached, s.result.UpToDate = true, true
		s.setReceipt(receipt)
		return nil
	case a != nil && a.damage != nil:
		return s.damaged(a)
	case a == nil:
		return fault.Invalid(s.ledger.key, "`rollmill job list` shows what the ledger holds; name another with --ledger",
			fs.ErrNotExist, "no such submission in the ledger")
	case a.Target != s.target:
		return fault.Errorf(fault.Usage, "repeat the backend's settings of the submission",
			"job: the batch went to %s, and these settings mean %s", where(a.Target), where(s.target))
	}
	if cancel && a.done == nil {
		if err := s.cancel(ctx, a); err != nil {
			return err
		}
	}
	return s.look(ctx, a)
}

func where(t receipts.Target) string {
	return fmt.Sprintf("%s at %q, model %q", t.Backend, t.Address, t.Model)
}

// named reads the receipt, which names the submission.
func (s *session) named(ctx context.Context) (*receipts.Receipt, error) {
	receipt, err := ReadReceipt(ctx, s.Receipt)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.ledger.key != "":
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Invalid(s.Out,
			"is it the --out of submit? A job without a receipt has a key: `rollmill job list`, --key", err, "no receipt")
	case err != nil:
		return nil, fmt.Errorf("reading the receipt at %q: %w", s.Out, err)
	case s.ledger.key != "" && receipt.Key != s.ledger.key:
		return nil, fault.Errorf(fault.Usage, "leave out one of --in and --key",
			"job: the receipt at %q is of the submission %s", s.Out, receipt.Key)
	}
	s.ledger.key = receipt.Key
	return receipt, nil
}

// look finds out the state of the newest attempt.
func (s *session) look(ctx context.Context, a *attempt) error {
	s.result.Attached = true
	if a.done == nil && !a.gone() && (!s.Wait || a.job != nil) { // its owner may be alive: only watching it would show
		return s.observe(ctx, a)
	}
	return s.conclusion(ctx, a)
}

// conclusion settles the attempt and returns how it ended.
func (s *session) conclusion(ctx context.Context, a *attempt) error {
	end, err := s.settle(ctx, a)
	if err != nil || end == nil { // nil: it is running, and the receipt says so
		return err
	}
	if end.Receipt == nil {
		s.result.Message = "nothing was trained: " + end.Why
		return nil
	}
	if err := s.deliver(ctx, end.Receipt); err != nil && s.Wait {
		return err
	}
	s.setReceipt(end.Receipt)
	return nil
}

// observe looks at an attempt whose owner may be alive: only the owner records
// its end. If the job has ended and the owner has not recorded it, a caller
// that waits finds out whether the owner is dead.
func (s *session) observe(ctx context.Context, a *attempt) error {
	for {
		out := backends.Outcome{State: receipts.JobPending, Message: "it is being sent by " + a.Owner.String()}
		if a.job != nil {
			var err error
			if out, err = s.ask(ctx, a); err != nil {
				return kinded(err)
			}
			out.Job = a.job.Job
		}
		if !s.Wait {
			s.setReceipt(s.receipt(a.intent, a.sent, out))
			return nil
		}
		if out.State != receipts.JobPending && out.State != receipts.JobRunning {
			return s.conclusion(ctx, a)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(s.PollInterval):
		}
		next, err := s.ledger.last(ctx)
		if err != nil {
			return err
		}
		if next == nil || next.damage != nil || next.done != nil || next.gone() || next.Attempt != a.Attempt {
			return s.job(ctx, false)
		}
		a = next
	}
}

func (s *session) ask(ctx context.Context, a *attempt) (backends.Outcome, error) {
	if s.Status != nil && a.job != nil {
		return s.Status(ctx, a.job.Job)
	}
	return s.Trainer.Resolve(ctx, s.submission(a))
}

func (s *session) cancel(ctx context.Context, a *attempt) error {
	switch {
	case s.Cancel == nil:
		return fault.Errorf(fault.Usage, "stop the trainer itself", "job: jobs of the backend %s cannot be cancelled",
			s.target.Backend)
	case a.job == nil:
		return fault.Errorf(fault.Temporary, "look again with `rollmill job status`",
			"job: this submission has no known job yet, so there is nothing to cancel")
	}
	_, err := s.Cancel(ctx, a.job.Job)
	return kinded(err)
}

func (s *session) setReceipt(r *receipts.Receipt) {
	s.result.Receipt = r
	s.result.Message = fmt.Sprintf("%s: %s", r.Backend, r.State)
	text := r.Message
	for _, note := range s.stats.Notes { // each was a warning of this command
		text = strings.Trim(strings.Replace(text, note, "", 1), "; ")
	}
	if text != "" {
		s.result.Message += ": " + text
	}
}

// noReceipt is the store of a submission that is named only by its key.
type noReceipt struct{}

func (noReceipt) ReadLimited(context.Context, string, int64) ([]byte, error) {
	return nil, fs.ErrNotExist
}
func (noReceipt) Create(context.Context, string, []byte) error         { return nil }
func (noReceipt) Write(_ context.Context, _ string, data []byte) error { return nil }
