package art

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
)

// Submit posts the batch and reads the metrics until the server ends the
// answer, which is when the new weights answer. It never posts twice.
func (t *Trainer) Submit(ctx context.Context, s backends.Submission, groups backends.Groups,
	event func(backends.JobEvent)) (backends.Outcome, error) {
	d, err := t.trainable(ctx)
	if err != nil {
		return backends.Clean("the batch was not sent"), err
	}
	if t.cfg.DeleteOldCheckpoints {
		t.deleteCheckpoints(ctx, d, s, event)
	}
	asked := ctx // ends when the command does, not when the server falls silent
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newWatch(t.cfg.ReadTimeout, cancel)
	defer watch.Stop()
	body := t.body(s, groups, d.plain(), func(n int64) { watch.touch(); event(backends.JobEvent{Sent: n}) })
	defer body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/_train_model", body)
	if err != nil {
		return backends.Clean(""), err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(art.SubmissionHeader, s.Token)
	resp, err := t.http.Do(req)
	if err != nil {
		if body.stop() { // the server did not get the complete request
			return backends.Clean("the batch was not handed over whole"), t.unsent(body, err)
		}
		return t.ended(asked, s, nil, t.broken(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		refusal := t.web().Refused(resp)
		if body.stop() {
			return backends.Clean(refusal.Error()), refusal
		}
		return t.afterRefusal(asked, s, refusal)
	}
	lines := readLines(resp.Body, watch, event)
	lines.old = !d.Histories
	if lines.err == nil {
		return t.ended(asked, s, lines, nil)
	}
	return t.ended(asked, s, lines, t.broken(cmp.Or(context.Cause(ctx), lines.err)))
}

func (t *Trainer) broken(err error) error {
	return fmt.Errorf("the connection to ART at %q broke while it trained (%w)", t.base, err)
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
	e := &Error{Err: err, Retry: true}
	t.explain(e, nil, nil)
	return e
}

// afterRefusal returns the outcome after a refusal of the whole batch. A
// refusal alone proves nothing: a proxy may have given up while the server
// trains. The batch is clean if an atomic server says so, or if the server
// itself gives this refusal before it begins and the step has not changed.
func (t *Trainer) afterRefusal(ctx context.Context, s backends.Submission, refusal error) (backends.Outcome, error) {
	out, err := t.ended(ctx, s, nil, refusal)
	if err == nil && (out.Clean || out.MayChange && beforeTraining(refusal)) {
		return backends.Clean(refusal.Error()), refusal
	}
	return out, err
}

// beforeTraining reports whether an ART server itself gives this refusal, before
// it trains: its framework and its handlers answer with a detail. Any other may
// come from a proxy, or from the server later.
func beforeTraining(refusal error) bool {
	var e *Error
	if !errors.As(refusal, &e) || !bytes.HasPrefix(bytes.TrimSpace(e.Answer), []byte(`{"detail":`)) {
		return false
	}
	return slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusUnprocessableEntity}, e.Status)
}

// ended returns the outcome after the whole batch was sent. The batch is never sent again. seen
// is what the server answered, and why is what cut the answer off; nil if nothing did.
func (t *Trainer) ended(ctx context.Context, s backends.Submission, seen *lines, why error) (backends.Outcome, error) {
	out, err := backends.Outcome{State: backends.JobUnknown}, context.Cause(ctx)
	if err == nil {
		out, err = t.look(ctx, s, seen)
	}
	if seen != nil {
		out.MetricSteps, out.Metrics = seen.raw, seen.mean
		out.Message = join(out.Message, seen.ruined())
	}
	if why != nil {
		out.Message = join(why.Error(), out.Message)
	}
	return out, err
}

// Resolve asks the server. A plain ART server knows only its step.
func (t *Trainer) Resolve(ctx context.Context, s backends.Submission) (backends.Outcome, error) {
	return t.look(ctx, s, nil)
}

// look decides by the server's step and, if that does not say enough, asks a
// server that trains atomically for the submission.
func (t *Trainer) look(ctx context.Context, s backends.Submission, seen *lines) (backends.Outcome, error) {
	unknown := backends.Outcome{State: backends.JobUnknown}
	step, err := t.step(ctx)
	if err != nil {
		return unknown, err
	}
	out := decide(s, seen, step)
	if seen != nil && seen.err == nil && !same(&step, s.Before.Step) {
		return out, nil
	}
	state, err := t.state(ctx, s.Token)
	switch {
	case err != nil:
		return unknown, err
	case state == nil, out.State == receipts.JobUntrained && state.TrainedAtStep == nil:
		return out, nil
	}
	return t.resolved(s, state), nil
}

func (t *Trainer) resolved(s backends.Submission, state *art.TrainingState) backends.Outcome {
	switch {
	case state.TrainedAtStep != nil:
		return backends.Outcome{State: receipts.JobCompleted, StepAfter: state.TrainedAtStep,
			Policy:  policyAt(s, *state.TrainedAtStep),
			Message: "the server says that it trained this submission"}
	case state.Busy:
		return backends.Outcome{State: receipts.JobRunning, Message: "the server is training"}
	}
	return backends.Outcome{State: receipts.JobFailed, Clean: true, StepAfter: &state.Step,
		Message: "the server says that it trained nothing of this submission"}
}

// policyAt returns the policy that answers after the batch: the earlier one
// with new weights, under the same name or that of the new step.
func policyAt(s backends.Submission, step int64) *receipts.Policy {
	if s.Before.Policy == nil {
		return nil
	}
	p := *s.Before.Policy
	p.Version, p.Model = step, stepped(p.Model, step)
	return &p
}

// deleteCheckpoints deletes old checkpoints; a failure is only noted. In the legacy dialect the
// server knows which step was the best; in the other one the client says what to keep.
func (t *Trainer) deleteCheckpoints(ctx context.Context, d dialect, s backends.Submission, event func(backends.JobEvent)) {
	var err error
	switch {
	case !d.Frontend:
		q := url.Values{"benchmark": {t.cfg.CheckpointMetric}, "benchmark_smoothing": {"1.0"}}
		err = t.call(ctx, quick, "/_delete_checkpoints?"+q.Encode(), t.cfg.model(), nil)
	case s.Before.Step != nil:
		keep := append(slices.Clone(t.cfg.KeepCheckpoints), *s.Before.Step)
		slices.Sort(keep)
		err = t.call(ctx, quick, "/_delete_checkpoint_files",
			map[string]any{"model": t.cfg.model(), "steps_to_keep": slices.Compact(keep)}, nil)
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
