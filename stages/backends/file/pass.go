package file

import (
	"errors"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/trl"
)

// Compares names the tables that the files would be made of.
func (t *Trainer) Compares() (tables []string) {
	for _, of := range []source{ofPairs, ofLabels} {
		if t.wants(of) {
			tables = append(tables, string(of))
		}
	}
	return tables
}

// Beside takes the tables that the batch has.
func (t *Trainer) Beside(tables formats.Tables) { t.tables = tables }

func (t *Trainer) wants(of source) bool {
	return slices.ContainsFunc(t.kinds, func(k kind) bool { return k.of == of })
}

// pass writes every file in one walk along the batch. Close it.
type pass struct {
	best    int
	sound   bool // the group that is written
	writers []*writer
	pairs   *trl.Preferences // nil when no file wants any
	labels  *trl.Labels
}

func (t *Trainer) pass(begin func(name string) (io.Writer, error)) *pass {
	p := &pass{best: t.cfg.Best}
	for _, k := range t.kinds {
		p.writers = append(p.writers, t.writer(k, begin))
	}
	if t.wants(ofPairs) {
		p.pairs = trl.NewPreferences(t.tables)
	}
	if t.wants(ofLabels) {
		p.labels = trl.NewLabels(t.tables)
	}
	return p
}

func (p *pass) close() {
	if p.pairs != nil {
		p.pairs.Close()
	}
	if p.labels != nil {
		p.labels.Close()
	}
}

// group writes a group, its preferences and its single answers. What is not
// sound goes into no file that must be whole.
func (p *pass) group(rows []formats.Trajectory, sound bool) error {
	p.sound = sound
	failed := errors.Join(p.give(ofGroups, batch{rows: rows}, ""), trl.EachTop(rows, p.best, func(some []formats.Trajectory) error {
		return p.give(ofTop, batch{rows: some}, "")
	}))
	if p.pairs != nil {
		failed = errors.Join(failed, p.pairs.Of(rows, func(x trl.Preference, reason string) error {
			return p.give(ofPairs, batch{pair: x}, reason)
		}))
	}
	if p.labels != nil {
		failed = errors.Join(failed, p.labels.Of(rows, func(x trl.Unpaired, reason string) error {
			return p.give(ofLabels, batch{single: x}, reason)
		}))
	}
	return failed
}

func (p *pass) give(of source, b batch, reason string) (failed error) {
	for _, w := range p.writers {
		switch {
		case w.kind.of != of, !p.sound && w.kind.whole():
		case reason != "":
			w.skip(reason)
		default:
			failed = errors.Join(failed, w.give(&b))
		}
	}
	return failed
}

// end looks whether the walk saw all of the tables.
func (p *pass) end() (failed error) {
	if p.pairs != nil {
		failed = p.pairs.End()
	}
	if p.labels != nil {
		failed = errors.Join(failed, p.labels.End())
	}
	return failed
}
