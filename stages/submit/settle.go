package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// settle finds out how the newest attempt ended, and ends it if its owner is dead. It returns
// nil if the job is still running and is not to be waited for: the result is then complete.
func (s *session) settle(ctx context.Context, a *attempt) (*done, error) {
	if a.damage != nil {
		return nil, s.damaged(a)
	}
	if a.done != nil {
		return a.done, nil
	}
	a, alive, err := s.ledger.watch(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case a.damage != nil:
		return nil, s.damaged(a)
	case a.done != nil:
		return a.done, nil
	case alive:
		return nil, fault.Errorf(fault.Temporary,
			"wait for it; if that process has died, the next run takes over when its lease ends",
			"submit: %s is submitting this batch", a.Owner)
	}
	return s.takeOver(ctx, a)
}

// takeOver ends an attempt whose owner is silent, in a way that the owner
// notices before it sends anything, in case it was only suspended.
func (s *session) takeOver(ctx context.Context, a *attempt) (*done, error) {
	if a.sent == nil {
		// The creator of this record decides: the owner can no longer send.
		won, err := s.ledger.create(ctx, a.Attempt, "sent", sent{Owner: s.ledger.me.ID, Void: true, At: s.Clock()})
		if err != nil {
			return nil, err
		}
		if !won {
			return nil, fault.Errorf(fault.Temporary, "run the same command again",
				"submit: %s has just begun to send this batch", a.Owner)
		}
	}
	if a.sent == nil || a.sent.Void {
		return s.ledger.finish(ctx, a.Attempt, done{Void: true, Why: "its owner ended before anything was sent"})
	}
	if a.taken == nil { // before the trainer is asked: its answer is final only if nothing is sent after it
		if _, err := s.ledger.create(ctx, a.Attempt, "taken", taken{Owner: s.ledger.me.ID, At: s.Clock()}); err != nil {
			return nil, err
		}
	}
	out, err := s.follow(ctx, a, backends.Outcome{})
	if err != nil {
		return nil, s.unseen(ctx, err)
	}
	return s.conclude(ctx, a, out)
}

// unseen returns the error of a batch that was sent and whose trainer cannot be
// asked. The attempt stays open: the next run asks first.
func (s *session) unseen(ctx context.Context, failure error) error {
	var ours *fault.Error
	if ctx.Err() != nil || errors.As(failure, &ours) && ours.Kind != fault.Input || fault.KindOf(failure) == fault.Usage {
		return kinded(failure)
	}
	return fault.Errorf(fault.Temporary,
		"run the same command again: it asks the trainer first and sends nothing twice. "+fault.HintOf(failure),
		"submit: the end of the job was not seen: %w", failure)
}

// askAgain is how often in a row a trainer that trains within the request may
// fail to answer, after the batch was sent.
const askAgain = 6

// follow requests the state of a job. With --wait it repeats that until the job has ended. A
// trainer that trains within the request is asked until it knows how the training ended, because
// nothing else can follow it; a flag that says what happened ends that.
func (s *session) follow(ctx context.Context, a *attempt, out backends.Outcome) (backends.Outcome, error) {
	submission := s.submission(a)
	still := &stall{now: s.Clock, limit: s.Stall, since: s.Clock()}
	failed, reported := 0, false
	for first := true; ; first = false {
		var err error
		seen := out
		switch {
		case first && out.State != "":
		case s.Status != nil && a.job != nil:
			out, err = s.Status(ctx, a.job.Job)
		default:
			out, err = s.Trainer.Resolve(ctx, submission)
		}
		if out.MetricSteps == nil { // the connection had them, and a look has none
			out.MetricSteps, out.Metrics = seen.MetricSteps, seen.Metrics
		}
		if err == nil && out.Job != "" && s.Status != nil { // found by its submission
			s.refer(ctx, a, out.Job)
		}
		within := s.patient && s.Status == nil && !s.settled()
		running := err == nil && (out.State == receipts.JobRunning || out.State == receipts.JobPending)
		switch {
		case err != nil:
			if failed++; !within || failed >= askAgain {
				return out, err
			}
		case running && (s.Wait || within), out.MayChange && within:
			if within && !reported {
				s.Logger().Warn("the end of the training was not seen; the trainer is asked again until it shows", "trainer",
					out.Message, "limit", s.Stall)
			}
			reported = true
			failed = 0
			if stalled := still.look(out); stalled != nil && running {
				return out, stalled
			} else if stalled != nil {
				return out, nil
			}
		default:
			return out, nil
		}
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-time.After(s.PollInterval):
		}
	}
}

// settled reports whether a flag says what became of the attempt that is open.
func (s *session) settled() bool { return (s.AssumeTrained || s.Resubmit) && !s.resent }

func (s *session) submission(a *attempt) backends.Submission {
	return backends.Submission{Token: a.Token, Run: a.Run, Epoch: a.Epoch, Curated: a.Curated, Digest: a.Digest,
		Before: a.sent.Before, Started: a.sent.At, Tokens: a.Stats.Tokens, Echo: s.Echo}
}

// conclude ends an attempt with the trainer's answer or, if the trainer does
// not know, with a person's decision.
func (s *session) conclude(ctx context.Context, a *attempt, out backends.Outcome) (*done, error) {
	out = s.policyAfter(ctx, a, out)
	end := done{Why: out.Message}
	switch {
	case out.State == receipts.JobFailed && out.Clean:
		end.Void = true
	case out.State == receipts.JobRunning || out.State == receipts.JobPending:
		return nil, s.running(ctx, a, out)
	case out.State != backends.JobUnknown && out.State != "":
		end.Receipt = s.receipt(a.intent, a.sent, out)
	case s.AssumeTrained && !s.resent:
		state, err := s.Trainer.Begin(ctx, s.Policy)
		if err != nil {
			return nil, kinded(err)
		}
		out = backends.Outcome{State: receipts.JobCompleted, StepAfter: state.Step, Policy: state.Policy,
			Message: "confirmed as trained by --assume-trained: " + out.Message}
		if known := a.sent.Before.Policy; !a.Assumes && known != nil && state.Policy != nil && *known == *state.Policy {
			out.Policy = nil // it is that of before the training
		}
		end.Receipt, end.Settled = s.receipt(a.intent, a.sent, out), "assume-trained"
	case s.Resubmit && !s.resent:
		end.Void, end.Settled = true, "resubmit"
	case out.MayChange && !s.patient:
		return nil, fault.Errorf(fault.Temporary, "look again later, or with `rollmill job wait`",
			"submit: it is not known yet whether the batch was trained: %s", out.Message)
	default:
		return nil, s.person(a, out)
	}
	return s.ledger.finish(ctx, a.Attempt, end)
}

// policyAfter returns the outcome with the policy after the training. A trainer that named a
// policy before it, and none after it, is asked; if it does not know, nothing may be
// sampled from the policy before, which the receipt does not repeat.
func (s *session) policyAfter(ctx context.Context, a *attempt, out backends.Outcome) backends.Outcome {
	if out.State != receipts.JobCompleted || out.Policy != nil || a.sent == nil || a.sent.Before.Policy == nil {
		return out
	}
	before := a.sent.Before
	if out.StepAfter == nil {
		state, err := s.Trainer.Begin(ctx, before.Policy)
		if err != nil {
			s.Logger().Warn("the trainer did not name its policy after the training", "error", err)
		} else if state.Policy != nil && *state.Policy != *before.Policy {
			out.Policy, out.StepAfter = state.Policy, state.Step
			return out
		} else if before.Step != nil && state.Step != nil && *state.Step != *before.Step {
			out.StepAfter = state.Step
		}
	}
	if out.StepAfter != nil {
		out.Policy = new(*before.Policy)
		out.Policy.Version = *out.StepAfter
		return out
	}
	out.Message = strings.TrimPrefix(out.Message+"; the trainer named no policy after the training", "; ")
	return out
}

// PolicyNow returns the receipt of a training whose trainer did not name its policy, with
// what the trainer says now. before is the policy that was trained.
func (o *Options) PolicyNow(ctx context.Context, r receipts.Receipt, before receipts.Policy) (*receipts.Receipt, error) {
	state, err := o.Trainer.Begin(ctx, &before)
	if err != nil {
		return &r, kinded(err)
	}
	if state.Policy == nil || *state.Policy == before {
		return &r, fault.Errorf(fault.Person, "let the trainer answer begin with the policy as it is now, and run the same command again",
			"the batch was trained, and the trainer does not name the policy since: the next epoch would be sampled from the one before")
	}
	r.Policy = state.Policy
	return &r, nil
}

// running writes the receipt of a running job. A job that can only be found by
// its submission's token gets no receipt yet.
func (s *session) running(ctx context.Context, a *attempt, out backends.Outcome) error {
	if a.job == nil {
		return fault.Errorf(fault.Temporary, "run the same command again, or with --wait",
			"submit: the batch is being trained: %s", out.Message)
	}
	out.Job = a.job.Job
	s.result.Attached = true
	return s.deliver(ctx, s.receipt(a.intent, a.sent, out))
}

// person returns the error of a state that only a person can resolve.
func (s *session) person(a *attempt, out backends.Outcome) error {
	help := fmt.Sprintf(`run the same command again if the trainer may still be working: it asks again, and sends nothing.
  If that does not help, look at the trainer (its log, its checkpoints), and add one flag, with all settings as before.
  If the batch was trained:     rollmill submit%[3]s --in %[1]s --out %[2]s --assume-trained
  If the batch was not trained: rollmill submit%[3]s --in %[1]s --out %[2]s --resubmit
  The wrong flag loses the batch or trains it twice`, a.Curated, s.Out, s.Words)
	return fault.Errorf(fault.Person, help,
		"submit: it is unknown whether the batch %q was trained: %s began to send it at %s to %s and did not see the end; %s",
		a.Curated, a.Owner, a.sent.At.UTC().Format(time.RFC3339), where(s.target), cmp.Or(out.Message, "the trainer cannot tell"))
}
