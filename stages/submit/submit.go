package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// Result is what submit prints with --json.
type Result struct {
	stages.Report
	Receipt  *receipts.Receipt    `json:"receipt,omitempty"`
	Attached bool                 `json:"attached"` // the batch had been submitted before; nothing was sent now
	Stats    *backends.BatchStats `json:"load,omitempty"`
	Problems []backends.Problem   `json:"problems,omitempty"` // the first of them; Failures counts all by reason
}

// Run submits a curated dataset to a trainer, once. If the job failed, it
// returns an error and a complete result.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	o = o.withDefaults()
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout,
			fault.Errorf(fault.Temporary, "run the same command again: it attaches to the job",
				"submit: gave up after %s", o.Timeout))
		defer cancel()
	}
	d, err := dataset.Open(ctx, o.In.URI, dataset.OpenOptions{AcceptGates: o.In.AcceptGates, Kind: schema.KindTrajectories})
	if err != nil {
		return Result{}, fmt.Errorf("opening the curated dataset: %w", err)
	}
	if err := d.Known(); err != nil {
		return Result{}, err
	}
	if o.Run == "" {
		if o.Run, err = runOf(ctx, d); err != nil {
			return Result{}, fmt.Errorf("reading the curated dataset: %w", err)
		}
	}
	digest, tables, err := o.compare(ctx, d)
	if err != nil {
		return Result{}, err
	}
	s := newSession(ctx, o, d, digest)
	s.tables = tables
	err = s.run(ctx)
	s.result.Seconds = o.Clock().Sub(s.began).Seconds()
	if r := s.result.Receipt; r != nil {
		s.result.Facts = r.Metrics
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s.result, err
}

// session is one run of the stage.
type session struct {
	Options
	backends.Description // of the trainer

	data   *dataset.Dataset
	target receipts.Target
	ledger *ledger
	stats  backends.BatchStats
	result Result
	began  time.Time

	settings backends.Identity // of the trainer
	runID    string            // of the dataset's run; "" when it has none

	rows     *dataset.RowCheck  // of the batch, taken by preflight
	tables   formats.Tables     // that the trainer uses, as they are in the dataset
	redacted redaction.Counts   // by preflight
	inTables []validate.Finding // of keys, by preflight

	checked bool             // preflight has passed
	made    *lineage         // of the batch, noted by preflight
	doctor  *validate.Doctor // of the batch, shown its rows by preflight
	others  []string         // other trainers that have had it
	ofEpoch []epochClaim     // other submissions of its epoch, by the ledger
	resent  bool             // --resubmit has taken effect

	replaced *receipts.Receipt // another batch's, to be replaced
	patient  bool              // a trainer that trains within the request is asked until it knows the end
}

// newSession returns a session; digest is that of what is submitted.
func newSession(ctx context.Context, o Options, d *dataset.Dataset, digest string) *session {
	s := &session{Options: o, Description: o.Trainer.Describe(), data: d, target: stored(ctx,
		o.Trainer.Target()), began: o.Clock(), patient: true}
	if d != nil {
		s.runID = d.Run.ID
	}
	s.settings = stored(ctx, nameless(o.Trainer.Identity()))
	scalar := o.Advantages == exporters.OfTrajectory
	if s.settings == nil && (scalar || o.Redact != nil) {
		s.settings = backends.Identity{}
	}
	s.settings.Add("redact", o.Redact.Digest())
	if scalar {
		s.settings.Add("advantages", o.Advantages)
	}
	s.ledger = &ledger{store: o.Ledger, key: Key(digest, s.settings, s.target), me: lease.Self(), now: o.Clock,
		ttl: o.LeaseTTL}
	s.result.Report = stages.Report{Stage: "submit", URI: o.Out, Identity: s.ledger.key, Sealed: true, Rows: d.Rows,
		RowsDigest: d.RowsDigest.String()}
	return s
}

// nameless returns settings without the values of those that are named like secrets, such as
// settings.api-key: with another key it is the same submission.
func nameless(settings backends.Identity) backends.Identity {
	for name := range settings {
		if secret.Looks(name[strings.LastIndex(name, ".")+1:]) {
			settings[name] = `"secret"`
		}
	}
	return settings
}

// stored returns a target, or a trainer's settings, as records have it: without secrets. Keys
// are computed from it, so that replacing a secret does not make another submission.
func stored[T receipts.Target | backends.Identity](ctx context.Context, v T) T {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out T
	if json.Unmarshal(secret.From(ctx).JSON(data), &out) != nil {
		return v
	}
	return out
}

func (s *session) run(ctx context.Context) error {
	if s.DryRun {
		return s.dryRun(ctx)
	}
	old, err := s.oldReceipt(ctx)
	if err != nil {
		return err
	}
	if s.data.Rows == 0 {
		return s.nothing(ctx, old)
	}
	for {
		a, err := s.ledger.last(ctx)
		if err != nil {
			return err
		}
		if a, err = s.match(ctx, a, old); err != nil {
			return err
		}
		if a == nil && s.settled() && s.Keys != nil {
			if err := s.checkSettled(ctx); err != nil {
				return err
			}
		}
		if a != nil && a.damage != nil && s.AssumeTrained {
			return s.assume(ctx, a)
		}
		if a != nil && (a.damage == nil || !s.Resubmit || s.resent) {
			end, err := s.settle(ctx, a)
			if err != nil || end == nil {
				return err
			}
			if !end.Void && (!s.Resubmit || s.resent) {
				return s.attach(ctx, end.Receipt)
			}
			a.done = end
		}
		over, err := s.send(ctx, a)
		if over || err != nil {
			return err
		}
	}
}

// match returns the newest attempt, as damaged if the existing receipt is of an
// attempt that the ledger does not have or does not know to have ended so:
// records were deleted, or it is another ledger.
func (s *session) match(ctx context.Context, a *attempt, old *receipts.Receipt) (*attempt, error) {
	if old == nil || s.resent || a != nil && a.damage != nil {
		return a, nil
	}
	lost, err := s.ledger.unrecorded(ctx, old)
	if err != nil || lost == nil {
		return a, err
	}
	a = cmp.Or(a, &attempt{intent: intent{Key: s.ledger.key}})
	a.damage = lost
	return a, nil
}

// oldReceipt returns the existing receipt if it belongs to this submission. A
// receipt of another one is an error, unless it is to be replaced.
func (s *session) oldReceipt(ctx context.Context) (*receipts.Receipt, error) {
	r, err := ReadReceipt(ctx, s.Receipt)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the receipt at %q: %w", s.Out, err)
	case r.Key == "":
		return nil, nil
	case r.Key == s.ledger.key:
		return r, nil
	}
	what := fmt.Sprintf("%q holds the receipt of another batch (%s, digest %s)", s.Out, r.Curated, r.CuratedDigest)
	same := r.CuratedDigest == s.data.RowsDigest.String() && r.Target != nil
	if same {
		what = fmt.Sprintf("%q holds the receipt of these rows from another trainer, %s; this one is %s", s.Out,
			where(*r.Target), where(s.target))
	}
	if same && *r.Target == s.target {
		a, err := s.other(r.Key).last(ctx)
		if err != nil {
			return nil, err
		}
		if a != nil && a.damage == nil {
			if err := s.otherSettings(a); err != nil && a.counts() {
				return nil, err
			}
			what = fmt.Sprintf("%q holds the receipt of these rows with other settings: %s", s.Out, s.changed(a))
		}
	}
	if s.inPlace() && !s.Resubmit && r.Target != nil && s.sameEpoch(*r.Target, r.Run, r.RunID, r.Epoch) {
		if lost, err := s.other(r.Key).unrecorded(ctx, r); err != nil || lost != nil {
			return nil, cmp.Or(err, s.damaged(&attempt{damage: lost}))
		}
	}
	if s.Overwrite {
		return nil, s.notNewer(ctx, r)
	}
	return nil, fault.Errorf(fault.Usage, "write to another --out, or replace it with --overwrite", "submit: %s", what)
}

// notNewer refuses to replace a receipt that was written after the command began:
// its user asked for an older one to be replaced.
func (s *session) notNewer(ctx context.Context, r *receipts.Receipt) error {
	s.replaced = r
	if s.Newer == nil {
		return nil
	}
	newer, err := s.Newer(ctx)
	if err != nil || !newer {
		return err
	}
	return fault.Errorf(fault.Usage, "look at it, and run the command again to replace it",
		"submit: the receipt at %q was written after this command began (%s)", s.Out, r.Curated)
}

func ended(r *receipts.Receipt) bool {
	return r.State != receipts.JobPending && r.State != receipts.JobRunning
}

// nothing writes the receipt of an empty batch: the policy stays the same.
func (s *session) nothing(ctx context.Context, old *receipts.Receipt) error {
	s.Logger().Warn("nothing is submitted: the curated dataset is empty, and the policy stays as it is", "dataset",
		s.data.URI())
	if old != nil {
		return s.attach(ctx, old)
	}
	policy := s.Policy
	if policy == nil {
		state, err := s.Trainer.Begin(ctx, nil)
		if err != nil {
			return kinded(err)
		}
		policy = state.Policy
	}
	r := s.receipt(intent{Curated: s.data.URI(), Digest: s.data.RowsDigest.String(), Run: s.Run, RunID: s.runID,
		Epoch: s.Epoch, CreatedAt: s.began}, nil,
		backends.Outcome{State: receipts.JobNothing, Policy: policy, Message: "the curated dataset is empty"})
	return s.deliver(ctx, r)
}

// attach returns the receipt of a job that was submitted before.
func (s *session) attach(ctx context.Context, r *receipts.Receipt) error {
	s.result.Attached, s.result.UpToDate = true, true
	return s.deliver(ctx, r)
}

// deliver writes the receipt, unless it already exists.
func (s *session) deliver(ctx context.Context, r *receipts.Receipt) error {
	s.setReceipt(r)
	there, err := ReadReceipt(ctx, s.Receipt)
	if err == nil && there.Key != "" && there.Key != r.Key && (s.replaced == nil || !sameReceipt(there, s.replaced)) {
		return fault.Errorf(fault.Usage,
			"run the command again with another --out: the ledger has what became of this batch, which is not trained again",
			"submit: %q got the receipt of another batch meanwhile (%s); this one is %s", s.Out, there.Curated, r.State)
	}
	if err != nil || !sameReceipt(there, r) {
		if err := WriteReceipt(ctx, s.Receipt, r); err != nil {
			return fmt.Errorf("writing the receipt: %w", err)
		}
	}
	return verdict(r)
}

func sameReceipt(a, b *receipts.Receipt) bool {
	return a.Key == b.Key && a.State == b.State && a.StartedAt.Equal(b.StartedAt)
}

// dryToken names the submission in what --rows writes.
const dryToken = "dry-run"

func (s *session) dryRun(ctx context.Context) error {
	if s.data.Rows == 0 {
		s.result.Message = "nothing would be sent: the curated dataset is empty"
		return nil
	}
	if err := s.preflight(ctx); err != nil {
		return err
	}
	s.result.Message = fmt.Sprintf("would send %s, %s, %s, %s to train, %s to %s at %s for %s; %s",
		plural.Of(s.stats.Groups, "group"), plural.Of(s.stats.Trajectories, "trajectory"),
		plural.Of(s.stats.Sequences, "sequence"),
		plural.Of(s.stats.Tokens, "token"), plural.Of(s.stats.Bytes, "byte"), s.target.Backend, s.target.Address,
		s.target.Model, estimate(s.stats))
	if s.Rows != nil {
		sub := backends.Submission{Token: dryToken, Run: s.Run, Epoch: s.Epoch, Curated: s.data.URI(),
			Digest: s.data.RowsDigest.String(), Started: s.began, Guard: func() error { return nil }}
		if err := s.WriteRows(ctx, sub, s.groups(ctx), *s.Rows); err != nil {
			return fmt.Errorf("writing the rows: %w", err)
		}
		s.result.Message += "; what would be sent is in " + s.Rows.URI
	}
	if s.Policy != nil { // the trainer's own state is requested only when it is to train
		if err := s.guard(backends.TrainerState{Step: &s.Policy.Version, Policy: s.Policy}); err != nil {
			return err
		}
	}
	if s.Ledger == nil {
		return nil
	}
	if err := s.checkOthers(ctx); err != nil {
		return err
	}
	a, err := s.ledger.last(ctx)
	if err == nil && (a == nil || a.damage == nil && a.done != nil && a.done.Void) {
		err = s.epochTaken(ctx)
	}
	switch {
	case err != nil:
		return err
	case a != nil && a.damage != nil:
		return s.damaged(a)
	case a != nil && a.done != nil && !a.done.Void:
		s.result.Message += "; it was submitted before (" + a.done.Receipt.State + "), so nothing would be sent"
	case a != nil && a.done == nil:
		s.result.Message += "; a submission of it is open, owned by " + a.Owner.String()
	}
	return nil
}

func (s *session) receipt(in intent, sent *sent, out backends.Outcome) *receipts.Receipt {
	now := s.Clock().UTC()
	r := &receipts.Receipt{
		Format: receipts.Format, Key: s.ledger.key, Backend: s.target.Backend, State: out.State, Run: in.Run,
		RunID: in.RunID, Epoch: in.Epoch,
		Curated: in.Curated, CuratedDigest: in.Digest,
		Trajectories: in.Stats.Trajectories, Groups: in.Stats.Groups, Tokens: in.Stats.Tokens,
		Job: out.Job, StepAfter: out.StepAfter, Policy: out.Policy, Metrics: out.Metrics, MetricSteps: out.MetricSteps,
		Files: out.Files, Sequences: in.Stats.Balances(),
		Message: out.Message, StartedAt: in.CreatedAt.UTC(), Target: &s.target, Ledger: s.LedgerURI, Resubmit: in.Resubmit,
	}
	if in.Stats.Redacted != nil {
		r.Redacted = in.Stats.Redacted.Found
	}
	for _, note := range in.Stats.Notes {
		if r.Message != "" {
			r.Message += "; "
		}
		r.Message += note
	}
	if sent != nil {
		r.StepBefore = sent.Before.Step
		if out.State != receipts.JobCompleted {
			r.Policy = cmp.Or(r.Policy, sent.Before.Policy)
		}
	}
	if ended(r) {
		r.FinishedAt = &now
	}
	return r
}
