package validate

import (
	"encoding/binary"
	"errors"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/spill"
)

// SourceCheck examines the rows of an import, and reports what they can be used for. What
// it keeps of them is in sorters, so its own memory does not grow with rows, only
// with the number of files; their names' memory is the caller's.
type SourceCheck struct {
	files   []string
	n       uint64               // rows
	sorter  func() *spill.Sorter // a new one
	ids     *spill.Sorter        // the hash of an id and its row: the hash of the group
	runs    *spill.Sorter        // the hash of a group and a row: the facts of it and of the group's rows next to it
	rowwise []rowwise
	row     Row // the last one
	source  Source

	run struct { // the last one, which is not in runs yet
		group, first uint64
		facts        []byte
	}
	key, value []byte // reused
}

// rowwise is a check that sees one row.
type rowwise struct {
	row   func(*Count, *Row)
	count *Count
	one   set
}

// maxRun is the largest number of rows in a run.
const maxRun = 64

// NewSourceCheck returns a check that has seen nothing. Its three sorters spill to dir
// ("": the system's) what exceeds about so many bytes of memory each. It must be
// closed.
func NewSourceCheck(dir string, memory int64) *SourceCheck {
	sorter := func() *spill.Sorter { return spill.New(dir, memory) }
	sc := &SourceCheck{sorter: sorter, ids: sorter(), runs: sorter()}
	for i := range imported {
		if imported[i].Sees == OneRow {
			sc.rowwise = append(sc.rowwise, rowwiseOf(&imported[i], 1<<i))
		}
	}
	return sc
}

func rowwiseOf(c *Check, one set) rowwise {
	made := c.checker()
	w := rowwise{func(_ *Count, r *Row) { made.Row(r) }, made.counted(), one}
	if c.row != nil {
		w.row = c.row
	}
	w.count.bare = true
	return w
}

// Close closes the sorters.
func (sc *SourceCheck) Close() error { return errors.Join(sc.ids.Close(), sc.runs.Close()) }

// Add examines a row of a group. The rows of a file follow one another; those of a
// group may be anywhere. It keeps nothing of the trajectory. It is not safe for
// concurrent use.
func (sc *SourceCheck) Add(group string, s Source, t *formats.Trajectory) error {
	f := fact{place: place{n: sc.n, file: sc.file(s.File), line: s.Line, record: s.Record},
		found: sc.find(group, s, t), content: sc.row.contentHash(), pairs: comparesCandidates(t)}
	f.score, f.scored = sc.row.score()
	if sc.row.Valid() {
		if f.turns = sc.row.turns(); f.scored {
			f.differs = sc.row.pairs(t)
		}
	}
	sc.row.Trajectory = nil
	sc.n++
	hash := xxh3.HashString(group)
	if s.ID != "" {
		sc.key, sc.value = spill.Key(sc.key[:0], idHash(&sc.source), f.n), spill.Key(sc.value[:0], hash)
		if err := sc.ids.Add(sc.key, sc.value); err != nil {
			return err
		}
	}
	if hash != sc.run.group || f.n-sc.run.first >= maxRun {
		if err := sc.endRun(); err != nil {
			return err
		}
		sc.run.group, sc.run.first = hash, f.n
	}
	sc.run.facts = f.append(sc.run.facts)
	return nil
}

// find returns what a row shows by itself.
func (sc *SourceCheck) find(group string, s Source, t *formats.Trajectory) (found set) {
	sc.source = s
	sc.row = Row{TrajectoryID: t.TrajectoryID, Group: group, Status: t.Status, Reward: t.Reward, Trajectory: t,
		Source: &sc.source, messages: sc.row.messages[:0]}
	for i := range sc.rowwise {
		c := &sc.rowwise[i]
		before := c.count.N
		if c.row(c.count, &sc.row); c.count.N > before {
			found |= c.one
		}
	}
	return found
}

// endRun adds the last run to the others.
func (sc *SourceCheck) endRun() error {
	if len(sc.run.facts) == 0 {
		return nil
	}
	sc.key = spill.Key(sc.key[:0], sc.run.group, sc.run.first)
	err := sc.runs.Add(sc.key, sc.run.facts)
	sc.run.facts = sc.run.facts[:0]
	return err
}

// file returns the index of a row's file.
func (sc *SourceCheck) file(name string) uint32 {
	if n := len(sc.files); n == 0 || sc.files[n-1] != name {
		sc.files = append(sc.files, name)
	}
	return uint32(len(sc.files) - 1)
}

// repeated adds the rows whose id an earlier row has, each after the hash of its group.
func (sc *SourceCheck) repeated(to *spill.Sorter) error {
	var last uint64
	first := true
	for r, err := range sc.ids.Sorted() {
		if err != nil {
			return err
		}
		id, n := split(r.Key)
		if !first && id == last {
			sc.key = spill.Key(sc.key[:0], binary.BigEndian.Uint64(r.Value), n)
			if err := to.Add(sc.key, nil); err != nil {
				return err
			}
		}
		last, first = id, false
	}
	return nil
}
