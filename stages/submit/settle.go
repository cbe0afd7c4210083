package submit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
)

// settle finds out how the newest attempt ended, and ends it if its owner is
// dead. It returns nil if the job is still running and is not to be waited for:
// the result is then complete.
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
		return nil, stages.Errorf(stages.KindTemporary, "wait for it; if that process has died, the next run takes over when its lease ends",
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
			return nil, stages.Errorf(stages.KindTemporary, "run the same command again", "submit: %s has just begun to send this batch", a.Owner)
		}
		return s.ledger.finish(ctx, a.Attempt, done{Void: true, Why: "its owner ended before anything was sent"})
	}
	if a.sent.Void {
		return s.ledger.finish(ctx, a.Attempt, done{Void: true, Why: "its owner ended before anything was sent"})
	}
	if a.taken == nil { // before the trainer is asked: its answer is final only if nothing is sent after it
		if _, err := s.ledger.create(ctx, a.Attempt, "taken", taken{Owner: s.ledger.me.ID, At: s.Clock()}); err != nil {
			return nil, err
		}
	}
	out, err := s.follow(ctx, a, backends.Outcome{})
	if err != nil {
		return nil, s.unseen(ctx, a, err)
	}
	return s.conclude(ctx, a, out)
}

// unseen returns the error of a batch that was sent and whose trainer cannot be
// asked. If the policy may have changed, a person has to decide, because another
// try would give no new information. A separate job is found later, by its
// reference or its token.
func (s *session) unseen(ctx context.Context, a *attempt, failure error) error {
	var ours *stages.Error
	if ctx.Err() != nil || errors.As(failure, &ours) || a.job != nil || !s.inPlace() {
		return kinded(failure)
	}
	return s.person(a, backends.Outcome{State: backends.JobUnknown, Message: fmt.Sprintf("and the trainer cannot be asked now (%v); when it answers again, the same command asks it first", failure)})
}

// follow requests the state of a job. With --wait it repeats that until the job
// has ended.
func (s *session) follow(ctx context.Context, a *attempt, out backends.Outcome) (backends.Outcome, error) {
	follower, _ := s.Trainer.(backends.Follower)
	submission := a.submission()
	still := s.newStall()
	for first := true; ; first = false {
		var err error
		switch {
		case first && out.State != "":
		case follower != nil && a.job != nil:
			out, err = follower.Status(ctx, a.job.Job)
		default:
			out, err = s.Trainer.Resolve(ctx, submission)
		}
		if err == nil && out.Job != "" && follower != nil { // found by its submission
			s.refer(ctx, a, out.Job)
		}
		if err != nil || !s.Wait || out.State != formats.JobRunning && out.State != formats.JobPending {
			return out, err
		}
		if err := still.look(out); err != nil {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-time.After(s.PollInterval):
		}
	}
}

func (a *attempt) submission() backends.Submission {
	return backends.Submission{Token: a.Token, Run: a.Run, Epoch: a.Epoch, Curated: a.Curated, Digest: a.Digest, Before: a.sent.Before, Started: a.sent.At}
}

// conclude ends an attempt with the trainer's answer or, if the trainer does
// not know, with a person's decision.
func (s *session) conclude(ctx context.Context, a *attempt, out backends.Outcome) (*done, error) {
	end := done{Why: out.Message}
	switch {
	case out.State == formats.JobFailed && out.Clean:
		end.Void = true
	case out.State == formats.JobRunning || out.State == formats.JobPending:
		return nil, s.running(ctx, a, out)
	case out.State != backends.JobUnknown && out.State != "":
		end.Receipt = s.receipt(a.intent, a.sent, out)
	case s.AssumeTrained:
		state, err := s.Trainer.Begin(ctx, s.Policy)
		if err != nil {
			return nil, kinded(err)
		}
		out = backends.Outcome{State: formats.JobCompleted, StepAfter: state.Step, Policy: state.Policy, Message: "confirmed as trained by --assume-trained: " + out.Message}
		end.Receipt, end.Settled = s.receipt(a.intent, a.sent, out), "assume-trained"
	case s.Resubmit:
		end.Void, end.Settled = true, "resubmit"
	default:
		return nil, s.person(a, out)
	}
	return s.ledger.finish(ctx, a.Attempt, end)
}

// running writes the receipt of a running job. A job that can only be found by
// its submission's token gets no receipt yet.
func (s *session) running(ctx context.Context, a *attempt, out backends.Outcome) error {
	if a.job == nil {
		return stages.Errorf(stages.KindTemporary, "run the same command again, or with --wait", "submit: the batch is being trained: %s", out.Message)
	}
	out.Job = a.job.Job
	s.result.Attached = true
	return s.deliver(ctx, s.receipt(a.intent, a.sent, out))
}

// person returns the error of a state that only a person can resolve.
func (s *session) person(a *attempt, out backends.Outcome) error {
	where := fmt.Sprintf("%s at %s, model %s", s.target.Backend, s.target.Address, s.target.Model)
	help := fmt.Sprintf(`look at the trainer (its log, its checkpoints), then run the same command with one more flag.
  If the batch was trained:     rollmill submit --in %[1]s --out %[2]s --assume-trained
  If the batch was not trained: rollmill submit --in %[1]s --out %[2]s --resubmit
  The wrong flag loses the batch or trains it twice`, a.Curated, s.Out)
	return stages.Errorf(stages.KindPerson, help,
		"submit: it is unknown whether the batch %q was trained: %s began to send it at %s to %s and did not see the end; %s",
		a.Curated, a.Owner, a.sent.At.UTC().Format(time.RFC3339), where, out.Message)
}
