package file

import (
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/exporters"
)

// Compares names the tables from which the files would be made.
func (t *Trainer) Compares() []string { return exporters.Compares(formatsOf(t.kinds)) }

// UseTables takes the tables of the batch.
func (t *Trainer) UseTables(tables formats.Tables) { t.tables = tables }

// pass writes every file in one pass over the batch. It must be closed.
type pass struct {
	*exporters.Walk
	writers []*writer
}

func (t *Trainer) pass(begin func(name string) (io.Writer, error)) *pass {
	p := &pass{Walk: exporters.NewWalk(formatsOf(t.kinds), t.cfg.Best, t.tables)}
	for _, k := range t.kinds {
		p.writers = append(p.writers, t.writer(k, begin))
	}
	return p
}

// group writes a group, its preferences and its single answers. Invalid rows go
// into no file that must be complete.
func (p *pass) group(rows []formats.Trajectory, sound bool) error {
	return p.Group(rows, func(of exporters.Source, x exporters.Item, reason string) (failed error) {
		for _, w := range p.writers {
			switch {
			case w.kind.format.Of != of, !sound && w.kind.format.Whole:
			case reason != "":
				w.skip(reason)
			default:
				failed = errors.Join(failed, w.give(x))
			}
		}
		return failed
	})
}
