package validate

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

// newCopies checks for rows of a group that are one attempt under two ids: the same
// payload, started and finished at the same microsecond; and for an id that occurs
// twice in a group. A source may number the rows of each file, so an import's
// counter wants the same conversation, too, of rows with the same id.
var newCopies = inGroups(attemptOf, copied)

type attempt struct {
	kept
	digest       string
	began, ended int64
}

func attemptOf(r *Row) (a attempt, checks bool) {
	t := r.wide()
	if t == nil {
		return a, false
	}
	a.kept = keep(r)
	if t.StartedAt != 0 && t.FinishedAt != 0 && t.HasPayloadDigest() {
		a.digest, a.began, a.ended = strings.Clone(t.PayloadDigest), t.StartedAt, t.FinishedAt
	}
	return a, true
}

func copied(c *Count, _ string, members []attempt) {
	seen, ids := map[attempt]string{}, map[string]bool{}
	c.Of += int64(len(members))
	for _, m := range members {
		if ids[m.id] {
			c.add(m.kept, "", "a row before it has the same id")
			continue
		}
		if ids[m.id] = true; m.digest == "" {
			continue
		}
		k := m
		k.kept = kept{}
		if was, again := seen[k]; again {
			c.add(m.kept, "", "the same attempt as %s", was)
			continue
		}
		seen[k] = m.id
	}
}

// newTwins checks for rows of a group that sampled the same ids with exactly the same
// logprobs, in answers too long for a coincidence.
var newTwins = inGroups(sampledHash, twins)

const minTwin = 64 // sampled ids

func sampledHash(r *Row) (answer, bool) {
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
	if n < minTwin {
		return answer{}, false
	}
	return answer{keep(r), h.Sum128()}, true
}

func twins(c *Count, _ string, members []answer) {
	seen := map[xxh3.Uint128]string{}
	c.Of += int64(len(members))
	for _, m := range members {
		if was, again := seen[m.digest]; again {
			c.add(m.kept, "", "as %s", was)
			continue
		}
		seen[m.digest] = m.id
	}
}
