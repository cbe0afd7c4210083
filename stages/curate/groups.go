package curate

import (
	"encoding/binary"
	"iter"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/stages"
)

// Group is one group as rules see it; the statistics are of its valid members.
type Group struct {
	ID             string
	ExampleID      string // "" for a group of several
	Epoch          int
	FirstRow       int64 // in the base; the others follow unless the set is scattered
	Count, Valid   int   // members, and those with a reward
	Mean, Min, Max float64
	StdPop, Solved float64 // solved is a share
	// members that failed or were skipped; all without a reward when old statistics do not distinguish them
	Failed        int
	SampledTokens int64 // of valid members; 0 when old statistics lack it (Kind.Tokens)

	index int // in Groups
}

// Groups is every group that curate decides about, in the order of the bases.
// There may be more than memory holds: beyond maxInMemory they are in a
// temporary file, and a byte per group stays in memory.
type Groups struct {
	list    *spill.List
	refused []uint8       // by index: the number of the rule that refused it, or 0
	left    int           // not refused
	by      uint8         // the current rule
	notes   *spill.Sorter // verdicts that cannot be computed again, by index
	spill   stages.Spill
	buf     []byte
}

// maxInMemory is the size of a list of groups, and of the data sorted from it,
// that is held in memory: more saves no time.
const maxInMemory = 8 << 20

func newGroups(s stages.Spill) *Groups {
	s.Memory = min(s.Memory, maxInMemory)
	return &Groups{list: spill.NewList(s.Dir, s.Memory), notes: spill.New(s.Dir, s.Memory), spill: s}
}

func (gs *Groups) add(g *Group) error {
	gs.buf = appendGroup(gs.buf[:0], g)
	gs.refused = append(gs.refused, 0)
	gs.left++
	return gs.list.Add(gs.buf)
}

// Len returns the number of groups that no rule has refused yet.
func (gs *Groups) Len() int { return gs.left }

// All yields the groups that no rule has refused yet. A group is valid until
// the next.
func (gs *Groups) All() iter.Seq2[*Group, error] {
	return func(yield func(*Group, error) bool) {
		for g, err := range gs.every(0, len(gs.refused)) {
			if err == nil && gs.refused[g.index] != 0 {
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
				g = readGroup(record)
				if g.index = i; !yield(&g, nil) {
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
		sorter := spill.New(gs.spill.Dir, gs.spill.Memory)
		defer sorter.Close()
		var key, value []byte
		for g, err := range gs.All() {
			if err == nil {
				r, ranked := rank(g)
				if !ranked {
					continue
				}
				key = append(appendRank(key[:0], r), g.ID...)
				value = appendGroup(binary.AppendUvarint(value[:0], uint64(g.index)), g)
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
			index, n := binary.Uvarint(r.Value)
			g = readGroup(r.Value[n:])
			if g.index = int(index); !yield(&g, nil) {
				return
			}
		}
	}
}

// Refuse drops a group permanently.
func (gs *Groups) Refuse(g *Group, v Verdict) error {
	gs.leaveOut(g)
	key := binary.BigEndian.AppendUint64(nil, uint64(g.index))
	return gs.notes.Add(key, spill.Append(nil, &note{v.Reason, v.Detail}))
}

func (gs *Groups) leaveOut(g *Group) {
	gs.refused[g.index] = gs.by
	gs.left--
}

// note is the stored form of a verdict.
type note struct{ Reason, Detail string }

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

func appendGroup(b []byte, g *Group) []byte {
	b = appendText(b, g.ID)
	if strings.HasPrefix(g.ID, g.ExampleID) { // it is usually named after it
		b = binary.AppendUvarint(append(b, 1), uint64(len(g.ExampleID)))
	} else {
		b = appendText(append(b, 0), g.ExampleID)
	}
	for _, n := range [...]int64{int64(g.Epoch), g.FirstRow, int64(g.Count), int64(g.Valid), int64(g.Failed),
		g.SampledTokens} {
		b = binary.AppendVarint(b, n)
	}
	for _, x := range [...]float64{g.Mean, g.Min, g.Max, g.StdPop, g.Solved} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func readGroup(b []byte) Group {
	var g Group
	g.ID, b = readText(b)
	same := b[0] == 1
	if b = b[1:]; same {
		size, n := binary.Uvarint(b)
		g.ExampleID, b = g.ID[:size], b[n:]
	} else {
		g.ExampleID, b = readText(b)
	}
	var whole [6]int64
	for i := range whole {
		x, n := binary.Varint(b)
		whole[i], b = x, b[n:]
	}
	g.Epoch, g.FirstRow, g.Count, g.Valid, g.Failed, g.SampledTokens = int(whole[0]), whole[1], int(whole[2]), int(whole[3]), int(whole[4]), whole[5]
	for _, x := range [...]*float64{&g.Mean, &g.Min, &g.Max, &g.StdPop, &g.Solved} {
		*x, b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
	}
	return g
}

func readText(b []byte) (string, []byte) {
	size, n := binary.Uvarint(b)
	end := n + int(size)
	return string(b[n:end]), b[end:]
}
