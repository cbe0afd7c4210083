package submit

import (
	"context"
	"iter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/backends"
)

// groups yields the batch as it is sent.
func (s *session) groups(ctx context.Context) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		for rows, err := range groups(ctx, s.data) {
			s.change(rows)
			if !yield(rows, err) {
				return
			}
		}
	}
}

// change makes rows of the dataset those that are sent.
func (s *session) change(rows []formats.Trajectory) (c redaction.Counts) {
	s.Advantages.Apply(rows)
	if s.Redact == nil {
		return c
	}
	for i := range rows {
		c.Add(s.Redact.Trajectory(&rows[i]))
	}
	return c
}

// keepsSecrets reports whether a batch with a key is refused: a service may keep
// it, and the user did not allow that.
func (s *session) keepsSecrets() bool { return !s.Private && !s.AllowSecrets }

// lookAtTables counts what is redacted in the tables that are sent, and looks
// for keys in the rest, if the batch would be refused for them.
func (s *session) lookAtTables() error {
	s.inTables = nil
	if s.Redact == nil && !s.keepsSecrets() {
		return nil
	}
	if err := lookAt(s, schema.TablePairs, s.tables.Pairs, s.Redact.Pair, func(p *formats.Pair) (any, string) {
		return p, p.ChosenID
	}); err != nil {
		return err
	}
	return lookAt(s, schema.TableLabels, s.tables.Labels, s.Redact.Label, func(l *formats.Label) (any, string) {
		return l, l.TrajectoryID
	})
}

func lookAt[T any](s *session, table string, rows iter.Seq2[T, error], change func(*T) redaction.Counts,
	of func(*T) (any, string)) error {
	if rows == nil {
		return nil
	}
	n, count := int64(0), validate.Count{}
	for row, err := range rows {
		if err != nil {
			return err
		}
		s.redacted.Add(change(&row))
		if s.keepsSecrets() {
			whole, id := of(&row)
			count.Of++
			if k, found := redaction.FindKey(whole); found {
				count.Add(&validate.Row{Number: n, TrajectoryID: id}, k.Detector, "%s", k)
			}
		}
		n++
	}
	for _, f := range count.Over(0, "rows of %s have what looks like a key or a password", table) {
		f.Check, f.Severity, f.Basis, f.URI = validate.Keys, validate.Warning, validate.Inferred, s.data.URI()
		s.inTables = append(s.inTables, f)
	}
	return nil
}
