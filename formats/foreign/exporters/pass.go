package exporters

import (
	"cmp"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
)

// Pass writes several files in one pass over a batch. Close it.
type Pass struct {
	*Walk
	Writers []*Writer
}

// NewPass returns a pass. The choice is that of NewWalk.
func NewPass(files []File, choice trainset.Choice, tables formats.Tables, place Place) *Pass {
	p := &Pass{Walk: NewWalk(FormatsOf(files), choice, tables)}
	for _, f := range files {
		p.Writers = append(p.Writers, newWriter(f, tables, &place))
	}
	return p
}

// Add writes a group, its preferences and its single answers. A group that is
// not sound goes into no file that must be complete.
func (p *Pass) Add(rows []formats.Trajectory, sound bool) error {
	blocked := make([]string, len(p.Writers))
	for i, w := range p.Writers {
		blocked[i] = w.place.Accept.BlocksGroup(rows, w.File.Format.Use)
	}
	return p.Group(rows, func(of Source, x Item, reason string) (failed error) {
		for i, w := range p.Writers {
			switch why := cmp.Or(reason, blocked[i]); {
			case w.File.Format.Of != of, !sound && w.File.Format.Whole:
			case why != "":
				w.skip(why)
			default:
				failed = errors.Join(failed, w.give(x))
			}
		}
		return failed
	})
}
