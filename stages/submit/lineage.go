package submit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// Reasons why rows belong to another policy than the one about to be trained.
const (
	StalePolicy = "stale_policy" // made by an older policy than is allowed
	NewerPolicy = "newer_policy" // made by a newer policy than the trainer's
	OtherModel  = "other_model"  // made by another model
	StaleEpoch  = "stale_epoch"  // of an older epoch than is allowed; no policy is known
	LaterEpoch  = "later_epoch"  // of a later epoch
)

// lineage is what a batch's rows say about the policy that made them. Rows
// without a policy version are judged by their epoch.
type lineage struct {
	versions map[int64]*origin  // by policy version
	models   map[string]*origin // of rows with one
	epochs   map[int64]*origin  // of rows without one
	oldest   int32              // epochs
	newest   int32
	rows     int64
	tokens   int64 // an estimate, with context
}

// origin counts rows, and keeps the first of them.
type origin struct {
	rows int64
	ids  []backends.Problem
}

// watched yields the batch and records its lineage.
func (s *session) watched(ctx context.Context) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		l := &lineage{versions: map[int64]*origin{}, models: map[string]*origin{}, epochs: map[int64]*origin{}}
		s.made, s.doctor, s.redacted = l, validate.NewDoctor(validate.In(validate.Submit)), redaction.Counts{}
		s.rows = dataset.NewRowCheck(s.data)
		for rows, err := range groups(ctx, s.data) {
			if err == nil {
				s.rows.Add(rows) // the dataset's, so before they are changed
				s.redacted.Add(s.change(rows))
				look(s.doctor, l.rows, rows)
				l.add(rows)
			}
			if !yield(rows, err) {
				return
			}
		}
	}
}

func (l *lineage) add(rows []formats.Trajectory) {
	for i := range rows {
		t := &rows[i]
		if l.rows == 0 {
			l.oldest, l.newest = t.Epoch, t.Epoch
		}
		l.rows++
		l.tokens += tokensOf(t)
		l.oldest, l.newest = min(l.oldest, t.Epoch), max(l.newest, t.Epoch)
		if t.PolicyVersion == nil {
			count(l.epochs, int64(t.Epoch), t)
			continue
		}
		count(l.versions, *t.PolicyVersion, t)
		count(l.models, t.Model, t)
	}
}

func count[K comparable](by map[K]*origin, key K, t *formats.Trajectory) {
	o := by[key]
	if o == nil {
		o = &origin{}
		by[key] = o
	}
	if o.rows++; len(o.ids) < keepProblems {
		o.ids = append(o.ids, backends.Problem{GroupID: t.Group(), TrajectoryID: t.TrajectoryID})
	}
}

// notes returns the findings that are only warnings.
func (l *lineage) notes(epoch int) (notes []string) {
	if l.rows == 0 {
		return nil
	}
	if int(l.newest) != epoch {
		notes = append(notes, fmt.Sprintf("the rows are from epoch %d and are submitted as epoch %d", l.newest, epoch))
	}
	if l.oldest != l.newest {
		notes = append(notes, fmt.Sprintf("rows of epochs %d to %d train together", l.oldest, l.newest))
	}
	unknown := int64(0)
	for _, o := range l.epochs {
		unknown += o.rows
	}
	if unknown > 0 && unknown < l.rows {
		notes = append(notes, fmt.Sprintf("%d of %d rows do not say which policy version made them", unknown, l.rows))
	}
	return notes
}

// guard refuses rows of another policy than the one about to be trained, if the
// trainer counts its steps: the trainer would treat them as its own. A batch
// that is sent again on purpose is always older.
func (s *session) guard(before backends.TrainerState) error {
	if before.Step == nil || s.made == nil || s.Resubmit || s.keeps() {
		return nil
	}
	for _, v := range slices.Sorted(maps.Keys(s.made.versions)) {
		made := fmt.Sprintf("were made by policy version %d, and the trainer is at step %d: they are", v, *before.Step)
		if late := *before.Step - v; late > s.MaxStaleness {
			return s.refuse(s.made.versions[v], StalePolicy,
				"sample with the newest policy (rollout --policy RECEIPT), drop old rows with curate, or allow them: "+
					"--max-staleness N",
				fmt.Sprintf("%s %d steps old", made, late))
		} else if late < 0 {
			return s.refuse(s.made.versions[v], NewerPolicy,
				"this is not the trainer that the policy came from, or it was reset to an older checkpoint",
				made+" newer than the trainer")
		}
	}
	for _, e := range slices.Sorted(maps.Keys(s.made.epochs)) {
		made := fmt.Sprintf("do not say which policy made them and are of epoch %d, submitted as epoch "+
			"%d: they are", e, s.Epoch)
		if late := int64(s.Epoch) - e; late > s.MaxStaleness {
			return s.refuse(s.made.epochs[e], StaleEpoch,
				"check --in. Drop old rows with curate, or allow them: --max-staleness N",
				fmt.Sprintf("%s %d epochs old", made, late))
		} else if late < 0 {
			return s.refuse(s.made.epochs[e], LaterEpoch, "leave out --epoch, or give the epoch of the rows",
				made+" of a later one")
		}
	}
	if before.Policy == nil || before.Policy.Model == "" {
		return nil
	}
	for _, model := range slices.Sorted(maps.Keys(s.made.models)) {
		if model != "" && !before.Policy.Names(model) {
			return s.refuse(s.made.models[model], OtherModel,
				"submit to the trainer of that model, or sample from this one: rollout --policy RECEIPT",
				fmt.Sprintf("were made by the model %q, and the one being trained is %q", model, before.Policy.Model))
		}
	}
	return nil
}

// refuse lists the rows in the result, and the first of them in the error.
func (s *session) refuse(o *origin, reason, hint, what string) error {
	for _, p := range o.ids {
		p.Reason, p.Detail, p.Hint = reason, what, hint
		s.name(p)
	}
	stages.Count(&s.result.Failures, reason, o.rows)
	return fault.Invalid(s.data.URI(), hint, nil, "%d rows %s; the first: %s", o.rows, what, o.ids[0].TrajectoryID)
}
