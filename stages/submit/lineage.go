package submit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// lineage is what a batch's rows say of the policy that made them. Rows
// without a policy version come from who knows where, and are not judged.
type lineage struct {
	versions map[int64]int64  // rows by policy version
	models   map[string]int64 // of rows with one
	examples map[string]string
	unknown  int64
	oldest   int32 // epochs
	newest   int32
	rows     int64
}

// watched is the batch, its lineage noted on the way.
func (s *session) watched(ctx context.Context) formats.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		l := &lineage{versions: map[int64]int64{}, models: map[string]int64{}, examples: map[string]string{}}
		s.made = l
		for rows, err := range s.groups(ctx) {
			if err == nil {
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
		l.oldest, l.newest = min(l.oldest, t.Epoch), max(l.newest, t.Epoch)
		if t.PolicyVersion == nil {
			l.unknown++
			continue
		}
		l.versions[*t.PolicyVersion]++
		l.models[t.Model]++
		for _, key := range []string{fmt.Sprint(*t.PolicyVersion), "model " + t.Model} {
			if _, there := l.examples[key]; !there {
				l.examples[key] = t.TrajectoryID
			}
		}
	}
}

// notes are worth a warning, and no more.
func (l *lineage) notes(epoch int) (notes []string) {
	if l.rows == 0 {
		return nil
	}
	if int(l.newest) != epoch {
		notes = append(notes, fmt.Sprintf("the rows are of epoch %d, and are submitted as epoch %d", l.newest, epoch))
	}
	if l.oldest != l.newest {
		notes = append(notes, fmt.Sprintf("rows of epochs %d to %d train together", l.oldest, l.newest))
	}
	if l.unknown > 0 && l.unknown < l.rows {
		notes = append(notes, fmt.Sprintf("%d of %d rows do not say which policy version made them", l.unknown, l.rows))
	}
	return notes
}

// guard refuses rows that another policy made than the one about to be
// trained, where the trainer counts its steps: it takes them for its own. A
// batch sent again on purpose is older by its nature.
func (s *session) guard(before formats.Standing) error {
	if before.Step == nil || s.made == nil || s.Resubmit {
		return nil
	}
	for _, v := range slices.Sorted(maps.Keys(s.made.versions)) {
		late := *before.Step - v
		if late >= 0 && late <= s.MaxStaleness {
			continue
		}
		what, hint := fmt.Sprintf("%d steps old", late), "sample with the newest policy (rollout --policy RECEIPT), drop old rows with curate, or allow them: --max-staleness N"
		if late < 0 {
			what, hint = "newer than the trainer", "this is another trainer than the one that the policy came from, or it went back to an older checkpoint"
		}
		return formats.Invalid(s.data.URI(), hint, nil, "%d rows were made by policy version %d, and the trainer is at step %d: they are %s; the first: %s",
			s.made.versions[v], v, *before.Step, what, s.made.examples[fmt.Sprint(v)])
	}
	if before.Policy == nil || before.Policy.Model == "" {
		return nil
	}
	for _, model := range slices.Sorted(maps.Keys(s.made.models)) {
		if !sameModel(model, before.Policy.Model) {
			return formats.Invalid(s.data.URI(), "submit to the trainer of that model, or sample from this one: rollout --policy RECEIPT", nil,
				"%d rows were made by the model %q, and the one being trained is %q; the first: %s", s.made.models[model], model, before.Policy.Model, s.made.examples["model "+model])
		}
	}
	return nil
}

// sameModel compares names but for the step that some servers add: name@3.
func sameModel(a, b string) bool {
	bare := func(name string) string {
		name, _, _ = strings.Cut(name, "@")
		return name
	}
	return a == "" || bare(a) == bare(b)
}
