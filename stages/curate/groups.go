package curate

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
)

// Group is one group as rules see it; the statistics are of its valid members.
type Group struct {
	ID             string
	ExampleID      string // "" for a group of several
	Fork           bool   // its members continue one prefix: no attempts at the example
	Epoch          int
	FirstRow       int64 // in the base; the others follow unless the set is scattered
	Count, Valid   int   // members, and those with a reward
	Mean, Min, Max float64
	StdPop, Solved float64 // solved is a share
	// members that failed or were skipped; all without a reward when old statistics do not distinguish them
	Failed        int
	Trains        training.Training
	SampledTokens int64 // of valid members; 0 when old statistics lack it (Kind.Tokens)

	Index int // among all groups; Groups sets it
}

// Groups is every group that curate decides about, in the order of the bases.
// There may be more than memory holds: beyond maxInMemory they are in a
// temporary file, and a byte per group stays in memory.
type Groups struct {
	list      *spill.List
	refused   []uint8             // by index: the number of the rule that refused it, or 0
	trains    []training.Training // by index; nil: by rewards
	tolerance *float64            // given to curate itself: groups with rewards that are equal by it train nothing
	left      int                 // not refused, without those of forks
	hide      bool                // groups of forks, from the current rule
	by        uint8               // the current rule
	notes     *spill.Sorter       // verdicts that cannot be computed again, by index
	spill     stages.Spill
	last      Group // that was added
	buf       []byte
}

// maxInMemory is the size of a list of groups, and of the data sorted from it,
// that is held in memory: more saves no time.
const maxInMemory = 8 << 20

func newGroups(s stages.Spill) *Groups {
	s.Memory = min(s.Memory, maxInMemory)
	return &Groups{list: spill.NewList(s.Dir, s.Memory), notes: spill.New(s.Dir, s.Memory), spill: s}
}

func (gs *Groups) add(g *Group) error {
	gs.last = *g
	gs.last.Index = len(gs.refused)
	gs.buf = spill.Append(gs.buf[:0], &gs.last)
	gs.refused = append(gs.refused, 0)
	gs.count(g, 1)
	return gs.list.Add(gs.buf)
}

func (gs *Groups) count(g *Group, n int) {
	if !g.Fork {
		gs.left += n
	}
}

// Len returns the number of groups, without those of forks, that no rule has refused yet.
func (gs *Groups) Len() int { return gs.left }

// All yields the groups that no rule has refused yet, to Rule.Groups those of forks
// only if it asks for them (RuleKind.Forks). A group is valid until the next.
func (gs *Groups) All() iter.Seq2[*Group, error] {
	return func(yield func(*Group, error) bool) {
		for g, err := range gs.every(0, len(gs.refused)) {
			if err == nil && (gs.refused[g.Index] != 0 || gs.hide && g.Fork) {
				continue
			}
			if !yield(g, err) || err != nil {
				return
			}
		}
	}
}

// every yields the groups with indexes [from, to).
func (gs *Groups) every(from, to int) iter.Seq2[*Group, error] {
	return func(yield func(*Group, error) bool) {
		i, g := 0, Group{}
		for record, err := range gs.list.All() {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case i == to:
				return
			case i >= from:
				if spill.Decode(record, &g); gs.trains != nil {
					g.Trains = gs.unlessEqual(&g, gs.trains[i])
				}
				if !yield(&g, nil) {
					return
				}
			}
			i++
		}
	}
}

// Rank is a position among groups: by Text, then the smaller Value, then the
// smaller Lot. Equal ranks are ordered by id.
type Rank struct {
	Text  string
	Value float64
	Lot   int64
}

// Sorted yields the groups that no rule has refused yet by rank, without those
// that have none. rank is called in the order of the bases.
func (gs *Groups) Sorted(rank func(*Group) (Rank, bool)) iter.Seq2[*Group, error] {
	return func(yield func(*Group, error) bool) {
		sorter := gs.sorter()
		defer sorter.Close()
		var key, value []byte
		for g, err := range gs.All() {
			if err == nil {
				r, ranked := rank(g)
				if !ranked {
					continue
				}
				key = append(appendRank(key[:0], r), g.ID...)
				value = spill.Append(value[:0], g)
				err = sorter.Add(key, value)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		var g Group
		for r, err := range sorter.Sorted() {
			if err != nil {
				yield(nil, err)
				return
			}
			if spill.Decode(r.Value, &g); !yield(&g, nil) {
				return
			}
		}
	}
}

// Refuse drops a group permanently.
func (gs *Groups) Refuse(g *Group, v Verdict) error {
	gs.leaveOut(g)
	key := binary.BigEndian.AppendUint64(nil, uint64(g.Index))
	return gs.notes.Add(key, spill.Append(nil, &note{v.Reason, v.Detail}))
}

func (gs *Groups) leaveOut(g *Group) {
	gs.refused[g.Index] = gs.by
	gs.count(g, -1)
}

// note is the stored form of a verdict.
type note struct{ Reason, Detail string }

// sorter returns a sorter with the memory of these.
func (gs *Groups) sorter() *spill.Sorter { return spill.New(gs.spill.Dir, gs.spill.Memory) }

func (gs *Groups) close() {
	_ = gs.list.Close()
	_ = gs.notes.Close()
}

// appendRank appends an encoding whose bytes compare as ranks do.
func appendRank(b []byte, r Rank) []byte {
	for i := range len(r.Text) {
		if b = append(b, r.Text[i]); r.Text[i] == 0 {
			b = append(b, 1)
		}
	}
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint64(b, ordered(r.Value))
	return binary.BigEndian.AppendUint64(b, uint64(r.Lot)^1<<63)
}

// ordered returns a number that orders as x does.
func ordered(x float64) uint64 {
	bits := math.Float64bits(x + 0) // of -0 too
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// Flat reports whether a group gives no training signal.
func (g *Group) Flat(tolerance float64) bool {
	if g.Trains == training.TrainsByRewards {
		return g.Valid > 0 && training.Flat(g.Min, g.Max, tolerance)
	}
	return g.Valid > 0 && g.Trains != training.TrainsSomething
}

// unlessEqual is what a group trains, unless its rewards are equal by a tolerance of curate's own.
func (gs *Groups) unlessEqual(g *Group, t training.Training) training.Training {
	if gs.tolerance != nil && training.Flat(g.Min, g.Max, *gs.tolerance) {
		return training.TrainsNothing
	}
	return t
}
