package lint

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
)

// tally counts the rows of one file, or of several.
type tally struct {
	rows   int64
	groups int64 // those whose first row is here
	found  [checkCount]struct {
		count int64   // rows or groups
		rows  int64   // rows, or the rows of the groups
		first []place // at most MaxPlaces, the earliest
	}
	usable [useCount]int64 // rows
}

func (t *tally) add(c check, count, rows int64, p place) {
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
	tallies  []tally // of each of the first files, and of all others
	group    uint64  // a hash
	rows     []fact  // of the group
	contents []content
}

// content is the hash of a row's conversation.
type content struct {
	hash uint64
	row  int // of the group
}

// count counts all rows, a group after the other.
func (l *Lint) count() ([]tally, error) {
	if err := l.endRun(); err != nil {
		return nil, err
	}
	repeated := l.sorter()
	defer repeated.Close() // its content is no longer needed
	if err := l.repeated(repeated); err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(repeated.Sorted())
	defer stop()
	again, err, more := next()
	c := counter{tallies: make([]tally, min(len(l.files), MaxFiles+1))}
	for run, bad := range l.runs.Sorted() {
		if err = cmp.Or(err, bad); err != nil {
			return nil, err
		}
		group, n := split(run.Key)
		c.begin(group)
		for facts := range slices.Chunk(run.Value, factBytes) {
			f := decoded(n, facts)
			if more && bytes.Equal(again.Key, ordered(l.key[:0], group, n)) {
				f.found |= 1 << duplicateIDs
				again, err, more = next()
			}
			c.rows = append(c.rows, f)
			n++
		}
	}
	c.end()
	return c.tallies, err
}

// begin begins a group, unless it is the one that it counts.
func (c *counter) begin(group uint64) {
	if group != c.group {
		c.end()
		c.group = group
	}
}

func (c *counter) of(f *fact) *tally { return &c.tallies[min(f.file, MaxFiles)] }

// end counts the rows of the group.
func (c *counter) end() {
	rows := c.rows
	if len(rows) == 0 {
		return
	}
	c.repeats(rows)
	first := c.of(&rows[0])
	first.groups++
	fault, bad := faultOf(rows)
	if bad {
		first.add(fault, 1, 0, rows[0].place)
	}
	for i := range rows {
		f := &rows[i]
		t := c.of(f)
		t.rows++
		for x := range f.found.each() {
			t.add(x, 1, 1, f.place)
		}
		open := anyUse &^ f.found.blocked()
		if bad {
			t.found[fault].rows++
			open = f.alone(open)
		}
		for u := range t.usable {
			t.usable[u] += int64(open >> u & 1)
		}
	}
	c.rows = rows[:0]
}

// repeats notes which of the rows have the conversation of an earlier one. That of a
// failed row may be empty, so it is not compared.
func (c *counter) repeats(rows []fact) {
	c.contents = c.contents[:0]
	for i := range rows {
		if !rows[i].found.has(failed) {
			c.contents = append(c.contents, content{rows[i].content, i})
		}
	}
	slices.SortFunc(c.contents, func(a, b content) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.row, b.row)) })
	for i := 1; i < len(c.contents); i++ {
		if x := c.contents[i]; x.hash == c.contents[i-1].hash {
			f := &rows[x.row]
			f.found |= 1 << duplicateContent
			f.found.addIf(f.found.has(duplicateIDs), copies)
		}
	}
}

// alone returns the uses of a row, of those, that do not compare it with others
// of its group.
func (f *fact) alone(open uses) uses {
	if f.pairs {
		return open &^ (grouped &^ forDPO)
	}
	return open &^ grouped
}
