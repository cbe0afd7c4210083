package art

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/rollmill/rollmill/formats"
	wire "github.com/rollmill/rollmill/formats/exporters/art"
	"github.com/rollmill/rollmill/stages/backends"
)

// Submit posts the batch and reads the metrics until the server ends the
// answer, which is when the new weights answer. It never posts twice.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups, event func(backends.JobEvent)) (backends.Outcome, error) {
	d, err := t.detect(ctx)
	if err == nil {
		err = d.refuse(t.base, t.cfg.textAlone())
	}
	if err != nil {
		return backends.Outcome{State: formats.JobFailed, Clean: true, Message: "the batch was not sent"}, err
	}
	if t.cfg.DeleteOldCheckpoints {
		t.deleteCheckpoints(ctx, d, s, event)
	}
	asked := ctx // ends when the command does, not when the server falls silent
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newWatch(t.cfg.ReadTimeout, cancel)
	defer watch.stop()
	body := t.body(s, groups, d.plain(), func(n int64) { watch.touch(); event(backends.JobEvent{Sent: n}) })
	defer body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/_train_model", body)
	if err != nil {
		return backends.Outcome{State: formats.JobFailed, Clean: true}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(wire.SubmissionHeader, s.Token)
	resp, err := t.http.Do(req)
	if err != nil {
		if !body.whole.Load() { // the server did not get the complete request
			return backends.Outcome{State: formats.JobFailed, Clean: true, Message: "the batch was not handed over whole"}, t.unsent(body, err)
		}
		return t.afterBreak(asked, s, nil, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return t.afterRefusal(ctx, s, t.web().Refused(resp))
	}
	lines := readLines(resp.Body, watch, event)
	if silent := context.Cause(ctx); lines.err != nil && silent != nil {
		lines.err = silent
	}
	if lines.err != nil {
		return t.afterBreak(asked, s, lines, lines.err)
	}
	step, err := t.step(asked)
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown, MetricSteps: lines.raw, Message: "training ended, but the step could not be read"}, err
	}
	out := lines.decide(s, step)
	if out.State != formats.JobCompleted && same(&step, s.Before.Step) {
		// This submission may have been sent before.
		if state, err := t.state(asked, s.Token); err == nil && state != nil && state.TrainedAtStep != nil {
			return t.resolved(s, state), nil
		}
	}
	return out, nil
}

// unsent explains why a batch was not sent completely: an error of this process
// (a damaged dataset, a lost lease) or of the connection.
func (t *Trainer) unsent(b *body, err error) error {
	if ours := b.failed.Load(); ours != nil {
		return *ours
	}
	var network *url.Error
	if errors.As(err, &network) {
		err = network.Err
	}
	return t.unreachable(err)
}

// afterRefusal returns the outcome after a refusal of the whole batch. A
// refusal alone proves nothing: a proxy may have given up while the server
// trains. The batch is clean if an atomic server says so, or if the server
// gives this refusal before it begins and the step has not changed. See the
// table in the package's comment.
func (t *Trainer) afterRefusal(ctx context.Context, s backends.Submission, refusal error) (backends.Outcome, error) {
	unknown := backends.Outcome{State: backends.JobUnknown, Message: refusal.Error()}
	clean := backends.Outcome{State: formats.JobFailed, Clean: true, Message: refusal.Error()}
	state, err := t.state(ctx, s.Token)
	if err == nil && state != nil {
		if out := t.resolved(s, state); !out.Clean {
			out.Message = join(refusal.Error(), out.Message)
			return out, nil
		}
		return clean, refusal
	}
	step, unread := t.step(ctx)
	switch {
	case err != nil || unread != nil:
		unknown.Message = join(unknown.Message, fmt.Sprintf("and the step could not be read afterwards (%v)", errors.Join(err, unread)))
	case !same(&step, s.Before.Step):
		unknown.StepAfter, unknown.Message = &step, join(unknown.Message, fmt.Sprintf("but the step is %d now", step))
	case beforeTraining(refusal):
		return clean, refusal
	default:
		unknown.StepAfter, unknown.Message = &step, join(unknown.Message, fmt.Sprintf("the step is %d, as it was before, but the whole batch was sent: the server may be training it still", step))
	}
	return unknown, nil
}

// beforeTraining reports whether an ART server gives this refusal before it
// trains: its framework's own answers, and those of its handlers with a detail.
// Any other may come from a proxy, or from the server later.
func beforeTraining(refusal error) bool {
	var e *Error
	if !errors.As(refusal, &e) {
		return false
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return bytes.HasPrefix(bytes.TrimSpace(e.Answer), []byte(`{"detail":`))
	}
	return false
}

// afterBreak returns the outcome when the connection ended before the answer
// did. It reads the server's step; the batch is never sent again.
func (t *Trainer) afterBreak(ctx context.Context, s backends.Submission, lines *lines, broken error) (backends.Outcome, error) {
	what := fmt.Sprintf("the connection to ART at %q broke while it trained (%v)", t.base, broken)
	if ctx.Err() != nil {
		return backends.Outcome{State: backends.JobUnknown, Message: what}, context.Cause(ctx)
	}
	out, err := t.Resolve(ctx, s)
	if lines != nil {
		out.MetricSteps, out.Metrics = lines.raw, lines.means()
	}
	if err != nil {
		out.State, out.Message = backends.JobUnknown, what
		return out, err
	}
	if out.State == backends.JobUnknown && lines != nil && errors.Is(broken, errEnded) && same(out.StepAfter, s.Before.Step) {
		out.State = formats.JobFailed
		out.Message = what + fmt.Sprintf(" and made no new checkpoint after %d gradient steps; the server's log says why (for CUDA out of memory: %s)", len(lines.raw), outOfMemory)
		return out, nil
	}
	out.Message = join(what, out.Message)
	return out, nil
}

// Resolve asks a server that trains atomically for the submission. A plain ART
// server knows only its step: if it is one higher than before, a batch was
// trained since, and only the owner of the submission was to send one.
func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	state, err := t.state(ctx, s.Token)
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	if state != nil {
		return t.resolved(s, state), nil
	}
	step, err := t.step(ctx)
	if err != nil {
		return backends.Outcome{State: backends.JobUnknown}, err
	}
	out := backends.Outcome{State: backends.JobUnknown, StepAfter: &step, Policy: policyAt(s, step)}
	before := s.Before.Step
	switch {
	case before == nil:
		out.Message = fmt.Sprintf("the step is %d, and none was noted before", step)
	case step == *before+1:
		out.State = formats.JobCompleted
		out.Message = fmt.Sprintf("the step went from %d to %d: taken as trained; its metrics are lost", *before, step)
	case step == *before:
		out.Message = fmt.Sprintf("the step is %d, as it was before: the batch may never have arrived, may be training still, or may have failed half way", step)
	default:
		out.Message = fmt.Sprintf("the step went from %d to %d: something else trained, too", *before, step)
	}
	return out, nil
}

func (t *Trainer) resolved(s backends.Submission, state *wire.TrainingState) backends.Outcome {
	switch {
	case state.TrainedAtStep != nil:
		return backends.Outcome{State: formats.JobCompleted, StepAfter: state.TrainedAtStep, Policy: policyAt(s, *state.TrainedAtStep),
			Message: "the server says that it trained this submission"}
	case state.Busy:
		return backends.Outcome{State: formats.JobRunning, Message: "the server is training"}
	}
	return backends.Outcome{State: formats.JobFailed, Clean: true, StepAfter: &state.Step, Message: "the server says that it trained nothing of this submission"}
}

// policyAt returns the policy that answers after the batch: the earlier one
// with new weights, under the same name or that of the new step.
func policyAt(s backends.Submission, step int64) *formats.Policy {
	if s.Before.Policy == nil {
		return nil
	}
	p := *s.Before.Policy
	p.Version, p.Model = step, stepped(p.Model, step)
	return &p
}

// deleteCheckpoints deletes old checkpoints; a failure is only noted. In the
// legacy dialect the server knows which step was the best; in the other one the
// client says what to keep.
func (t *Trainer) deleteCheckpoints(ctx context.Context, d dialect, s backends.Submission, event func(backends.JobEvent)) {
	var err error
	switch {
	case !d.Frontend:
		q := url.Values{"benchmark": {t.cfg.CheckpointMetric}, "benchmark_smoothing": {"1.0"}}
		err = t.call(ctx, quick, "/_delete_checkpoints?"+q.Encode(), t.cfg.model(), nil)
	case s.Before.Step != nil:
		keep := append(slices.Clone(t.cfg.KeepCheckpoints), *s.Before.Step)
		slices.Sort(keep)
		err = t.call(ctx, quick, "/_delete_checkpoint_files", map[string]any{"model": t.cfg.model(), "steps_to_keep": slices.Compact(keep)}, nil)
	}
	if err != nil {
		event(backends.JobEvent{Note: "old checkpoints were not deleted: " + err.Error()})
	}
}

func same(a, b *int64) bool { return a != nil && b != nil && *a == *b }

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
