package validate

import (
	"bytes"
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"github.com/rollmill/rollmill/formats/spill"
)

// imported are the checks that an import makes.
var imported = In(Import)

// maxImported is how many there can be, for a set of them.
const maxImported = 64

// set is a set of checks, by their place in imported.
type set uint64

func setOf(name string) set {
	return 1 << slices.IndexFunc(imported, func(c Check) bool { return c.Name == name })
}

// The checks of an import that compare rows, and the one after which a row is in no other finding.
var (
	failedSet, singleSet, flatSet        = setOf("failures"), setOf("singleton"), setOf(Flat)
	sameIDSet, sameContentSet, copiesSet = setOf("duplicate_ids"), setOf("duplicate_content"), setOf("copies")
	prefixSet, unpairedSet               = setOf("prefix_rows"), setOf("no_pair")
)

func (s set) has(one set) bool { return s&one != 0 }

func (s set) each() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros64(uint64(s))) {
				return
			}
		}
	}
}

// blocked is what a set of findings excludes a row from.
func (s set) blocked() (u uses) {
	for c := range s.each() {
		u |= imported[c].Blocks
	}
	return u
}

type tally struct {
	rows   int64
	groups int64
	found  [maxImported]struct {
		count int64   // rows or groups
		rows  int64   // rows, or the rows of the groups
		first []place // at most MaxPlaces, the earliest
	}
	usable [numUses]int64 // rows
}

func (t *tally) add(c int, count, rows int64, p place) {
	f := &t.found[c]
	f.count += count
	f.rows += rows
	if n := len(f.first); n == MaxPlaces && f.first[n-1].n < p.n {
		return
	}
	at, _ := slices.BinarySearchFunc(f.first, p.n, func(o place, n uint64) int { return cmp.Compare(o.n, n) })
	f.first = slices.Insert(f.first, at, p)
	f.first = f.first[:min(len(f.first), MaxPlaces)]
}

// counter counts group after group.
type counter struct {
	tally
	group uint64 // a hash
	facts []fact // of the group's rows
}

// count counts all rows, a group after the other.
func (sc *SourceCheck) count() (*tally, error) {
	if err := sc.endRun(); err != nil {
		return nil, err
	}
	repeated := sc.sorter()
	defer repeated.Close() // its content is no longer needed
	if err := sc.repeated(repeated); err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(repeated.Sorted())
	defer stop()
	again, err, more := next()
	var c counter
	for run, bad := range sc.runs.Sorted() {
		if err = cmp.Or(err, bad); err != nil {
			return nil, err
		}
		group, n := split(run.Key)
		if group != c.group {
			c.end()
			c.group = group
		}
		for f, left := (fact{}), run.Value; len(left) > 0; n++ {
			f, left = decoded(n, left)
			if more && bytes.Equal(again.Key, spill.Key(sc.key[:0], group, n)) {
				f.found |= sameIDSet
				again, err, more = next()
			}
			c.facts = append(c.facts, f)
		}
	}
	c.end()
	return &c.tally, err
}

func (c *counter) end() {
	rows := c.facts
	if len(rows) == 0 {
		return
	}
	repeats(rows)
	if calls(rows) {
		for i := range rows {
			rows[i].found |= prefixSet
		}
	}
	c.groups++
	c.rows += int64(len(rows))
	fault := faultOf(rows)
	if fault == 0 {
		unpaired(rows)
	}
	for x := range fault.each() {
		c.add(x, 1, int64(len(rows)), rows[0].place)
	}
	for i := range rows {
		f := &rows[i]
		for x := range f.found.each() {
			c.add(x, 1, 1, f.place)
		}
		open := anyUse &^ f.found.blocked()
		if fault != 0 {
			open = f.alone(open)
		}
		for u := range c.usable {
			c.usable[u] += int64(open >> u & 1)
		}
	}
	c.facts = rows[:0]
}

// faultOf returns the finding of a group, if it has one. A group without scores
// may get them later. One with a single member that can be compared may have had that
// one only: the remedy is another --group-by.
func faultOf(rows []fact) set {
	var s spread
	for i := range rows {
		f := &rows[i]
		s.add(kept{}, !f.found.has(failedSet), f.scored, f.score)
	}
	if s.valid == 1 || s.scored == 1 {
		return singleSet
	}
	if flat, _ := s.flat(); flat {
		return flatSet
	}
	return 0
}

// repeats notes which of the rows have the conversation of an earlier one. That of a
// failed row may be empty, so it is not compared.
func repeats(rows []fact) {
	seen := make(map[uint64]bool, len(rows))
	for i := range rows {
		f := &rows[i]
		if f.found.has(failedSet) {
			continue
		}
		if seen[f.content] {
			if f.found |= sameContentSet; f.found.has(sameIDSet) {
				f.found |= copiesSet
			}
		}
		seen[f.content] = true
	}
}

// calls reports whether the rows of a group are calls and not attempts.
func calls(rows []fact) bool {
	all := make([]turns, 0, len(rows))
	for i := range rows {
		if !rows[i].found.has(failedSet) {
			all = append(all, rows[i].turns)
		}
	}
	return chained(all)
}

// alone returns the uses of a row, of those, that do not compare it with others of its group.
func (f *fact) alone(open uses) uses {
	if f.pairs {
		return open &^ (grouping &^ forDPO)
	}
	return open &^ grouping
}
