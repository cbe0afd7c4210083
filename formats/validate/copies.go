package validate

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// copies finds rows of a group that are one attempt under two ids: the same
// payload, started and finished at the same microsecond. It also finds an id
// that occurs twice in a group.
type copies struct {
	Count
	next neighbours[attempt]
}

type attempt struct {
	row          Row
	digest       string
	began, ended int64
}

func newCopies() Checker {
	c := &copies{}
	c.next.f = c.group
	return c
}

func (c *copies) Row(r *Row) {
	t := r.Trajectory
	if t == nil || !r.Valid() {
		return
	}
	a := attempt{row: copied(r).Row}
	if t.StartedAt != 0 && t.FinishedAt != 0 && t.HasPayloadDigest() {
		a.digest, a.began, a.ended = strings.Clone(t.PayloadDigest), t.StartedAt, t.FinishedAt
	}
	c.Of++
	c.next.add(r.Group, a)
}

func (c *copies) group(members []attempt) {
	type key struct {
		digest       string
		began, ended int64
	}
	seen, ids := map[key]*attempt{}, map[string]bool{}
	for i := range members {
		m := &members[i]
		if ids[m.row.TrajectoryID] {
			c.Add(&m.row, "", "a row before it has the same id")
			continue
		}
		if ids[m.row.TrajectoryID] = true; m.digest == "" {
			continue
		}
		k := key{m.digest, m.began, m.ended}
		if was := seen[k]; was != nil {
			c.Add(&m.row, "", "the same attempt as "+was.row.TrajectoryID)
			continue
		}
		seen[k] = m
	}
}

func (c *copies) Found() []Finding {
	c.next.end()
	return c.Over(0, "rows are copies of another row of their group, or have its id")
}

// twins finds rows of a group that sampled the same ids with exactly the same
// logprobs, in answers too long for a coincidence.
type twins struct {
	Count
	next neighbours[tokenHash]
}

type tokenHash struct {
	row  Row
	hash xxh3.Uint128
}

const minTwin = 64 // sampled ids

func newTwins() Checker {
	c := &twins{}
	c.next.f = c.group
	return c
}

func (c *twins) Row(r *Row) {
	h, n := xxh3.New(), 0
	r.trained(func(_ int, m *formats.Message) bool {
		var b [8]byte
		for k := range min(len(m.TokenIDs), len(m.Logprobs)) {
			binary.LittleEndian.PutUint32(b[:4], uint32(m.TokenIDs[k]))
			binary.LittleEndian.PutUint32(b[4:], math.Float32bits(m.Logprobs[k]))
			h.Write(b[:])
			n++
		}
		return true
	})
	if n >= minTwin {
		c.Of++
		c.next.add(r.Group, tokenHash{copied(r).Row, h.Sum128()})
	}
}

func (c *twins) group(members []tokenHash) {
	seen := map[xxh3.Uint128]string{}
	for i := range members {
		m := &members[i]
		if was, again := seen[m.hash]; again {
			c.Add(&m.row, "", fmt.Sprintf("as %s", was))
			continue
		}
		seen[m.hash] = m.row.TrajectoryID
	}
}

func (c *twins) Found() []Finding {
	c.next.end()
	return c.Over(0, "rows have exactly the ids and logprobs of another row of their group: copies, or the same seed for all")
}
