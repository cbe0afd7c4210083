package curate

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/spill"
)

// scatteredReader collects the members of groups that are scattered over the base. A group
// belongs to the slice that has its first row, and its members may be anywhere after it. So
// every member is read, and also the rows of groups that no rule refused as a whole. Both are
// sorted by group, and spill. Kept rows are written decoded: pages hold rows of several groups.
type scatteredReader struct {
	*writer
	sorter *spill.Sorter
	groups map[xxh3.Uint128]int // the slice's groups, by name: index
	key    []byte
	value  []byte
}

// scatteredMember is a member, with its row unless its group was refused as a whole.
type scatteredMember struct {
	Member formats.Member
	Row    *formats.Trajectory
}

// decideScattered is decide for scattered groups.
func (w *writer) decideScattered(ctx context.Context, full chan<- *decided, free <-chan *decided) error {
	b := &scatteredReader{writer: w, sorter: spill.New(w.spill.Dir, w.spill.Memory), groups: map[xxh3.Uint128]int{}}
	defer b.sorter.Close()
	for g, err := range w.plan.groups.every(w.own.from, w.own.to) {
		if err != nil {
			return err
		}
		b.groups[xxh3.HashString128(g.ID)] = g.Index
	}
	if err := b.sortMembers(ctx); err != nil {
		return err
	}
	next, stop := iter.Pull2(b.sorter.Sorted())
	defer stop()
	if err := w.decide(ctx, full, free, func(d *decided) error { return b.collect(next, d) }); err != nil {
		return err
	}
	if _, _, more := next(); more {
		return w.set.damaged("the last group has more members than its statistics say")
	}
	return nil
}

// collect reads the members of a group, which come next.
func (b *scatteredReader) collect(next func() (spill.Record, error, bool), d *decided) error {
	g := &d.group
	d.members, d.verdicts, d.rows = sized(d.members, g.Count), sized(d.verdicts, g.Count), sized(d.rows, g.Count)
	d.read = readNone
	for k := range g.Count {
		r, err, more := next()
		if err != nil {
			return err
		}
		if !more || binary.BigEndian.Uint64(r.Key) != uint64(g.Index) {
			return b.set.damaged("group %q, or the previous one, does not have as many members as its statistics say", g.ID)
		}
		var x scatteredMember
		spill.Decode(r.Value, &x)
		if d.members[k] = x.Member; x.Row != nil {
			d.rows[k], d.read = *x.Row, readWhole
		}
	}
	return nil
}

func (b *scatteredReader) sortMembers(ctx context.Context) error {
	at := int64(-1)
	for m, err := range dataset.Each[formats.Member](ctx, b.set.members, "", b.set.members.All()) {
		if err != nil {
			return err
		}
		at++
		i, found := b.groups[xxh3.HashString128(m.GroupID)]
		if !found {
			continue
		}
		x := scatteredMember{Member: *m}
		if b.plan.groups.refused[i] == 0 {
			var row [1]formats.Trajectory
			if err := b.whole.read(at, row[:]); err != nil {
				return err
			}
			if err := b.same(m, &row[0], at); err != nil {
				return err
			}
			x.Row = &row[0]
		}
		b.key = binary.BigEndian.AppendUint64(b.key[:0], uint64(i))
		b.key = binary.BigEndian.AppendUint64(b.key, uint64(at))
		b.value = spill.Append(b.value[:0], &x)
		if err := b.sorter.Add(b.key, b.value); err != nil {
			return err
		}
	}
	return nil
}
