package validate

import (
	"fmt"
	"hash/maphash"
	"math"
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// agreement compares members of a group where they must agree: the same weights
// give the same token after the same tokens the same logprob, up to rounding.
// Ids that are shifted against their logprobs, logprobs of another kind, and
// weights that changed under one policy version all violate this.
var newAgreement = inGroups(openingOf, disagree)

// opening is the beginning of a trajectory's first answer.
type opening struct {
	kept
	message  int
	prompt   uint64 // hash of the prompt's ids, the model, its version and the settings
	ids      []int32
	logprobs []float32
}

const (
	minShared     = 4    // ids that two answers must share before they are compared
	maxOpening    = 256  // ids of an answer that are kept
	maxDifference = 1.0  // nats; rounding in bf16 and in batches is well below this
	wellBelow     = -5.0 // a logprob below it is not compared: rounding errors grow there
	maxCompared   = 8    // different answers that each member is compared with
)

var (
	hashSeed = maphash.MakeSeed()
	seeds    = regexp.MustCompile(`"seed":-?[0-9]+,?`)
)

func openingOf(r *Row) (o opening, checks bool) {
	r.trained(func(i int, m *formats.Message) bool {
		if len(m.TokenIDs) >= minShared && len(m.TokenIDs) == len(m.Logprobs) && m.PromptDeltaIDs != nil &&
			sampledBefore(r.Trajectory, i) < 0 {
			n := min(len(m.TokenIDs), maxOpening)
			o = opening{keep(r), i, promptHash(r.Trajectory, m), slices.Clone(m.TokenIDs[:n]), slices.Clone(m.Logprobs[:n])}
			checks = true
		}
		return false // the first only: later prompts differ
	})
	return o, checks
}

// sampledBefore returns the nearest sampled message that a message continues,
// or -1. After such a message, prompt_delta_ids is not the whole prompt.
func sampledBefore(t *formats.Trajectory, i int) int {
	for p := t.Messages[i].Parent; p >= 0 && int(p) < i; p = t.Messages[p].Parent {
		if t.Messages[p].Sampled {
			return int(p)
		}
		i = int(p)
	}
	return -1
}

func promptHash(t *formats.Trajectory, m *formats.Message) uint64 {
	call := &t.Calls[m.Call]
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for _, id := range m.PromptDeltaIDs {
		maphash.WriteComparable(&h, id)
	}
	h.WriteString(call.Model)
	h.WriteString(seeds.ReplaceAllString(call.Sampling, ""))
	if call.PolicyVersion != nil {
		maphash.WriteComparable(&h, *call.PolicyVersion)
	}
	return h.Sum64()
}

func disagree(c *Count, _ string, members []opening) {
	compared := map[uint64][]*opening{}
	for i := range members {
		m := &members[i]
		others := compared[m.prompt]
		for _, o := range others {
			at, shared := firstDifference(m, o)
			if shared < minShared {
				continue
			}
			c.Of++
			if at >= 0 {
				c.add(m.kept, "", "messages[%d]: after the same %d ids, id %d has logprob %.4g here and %.4g in %s",
					m.message, at, m.ids[at], m.logprobs[at], o.logprobs[at], o.id)
				break
			}
		}
		if len(others) < maxCompared {
			compared[m.prompt] = append(others, m)
		}
	}
}

// firstDifference returns where two answers first disagree, or -1, and how many leading
// ids they share.
func firstDifference(a, b *opening) (at, shared int) {
	at = -1
	for shared < min(len(a.ids), len(b.ids)) && a.ids[shared] == b.ids[shared] {
		x, y := float64(a.logprobs[shared]), float64(b.logprobs[shared])
		if at < 0 && max(x, y) > wellBelow && math.Abs(x-y) > maxDifference {
			at = shared
		}
		shared++
	}
	return at, shared
}

// shifted looks at the ids at the ends of answers. A model ends a turn with one
// of a few ids, which its prompts also contain where earlier turns end. An
// answer that begins with such an id, or has it before its last id, is shifted
// by one. So are answers that nearly all begin with the id that ends their
// prompt, or end with the id that begins what follows them.
type shifted struct {
	Count
	last, first, prior edges
	before, after      seam
}

// seam counts the ids where an answer meets its prompt, or what follows it.
type seam struct {
	same Count // the ids of both sides are equal
	of   int64
}

// edges are the ids found at one position of answers.
type edges map[int32]*edge

type edge struct {
	n  int64
	at Place // of the first occurrence
}

const (
	minEnded    = 20   // the smallest number of answers for which shares are meaningful
	endShare    = 0.2  // the share of answers that an id must end to be an end of turn
	commonShare = 0.8  // the share of answers that begin, or nearly end, with one id when no id ends them
	maxIDs      = 4096 // different ids that are counted for each position
	beginning   = "begins with"
	beforeEnd   = "has before its last id"
)

func (e edges) add(id int32, r *Row, i int, where string) {
	if e[id] == nil && len(e) < maxIDs {
		e[id] = &edge{at: PlaceOf(r.Number, r.TrajectoryID, fmt.Sprintf("message %d %s id %d", i, where, id))}
	}
	if e[id] != nil {
		e[id].n++
	}
}

func (s *seam) add(left, right []int32, r *Row, i int, what string) {
	if len(left) == 0 || len(right) == 0 {
		return
	}
	if s.of++; left[len(left)-1] == right[0] {
		s.same.Add(r, "", "message %d %s, id %d", i, what, right[0])
	}
}

func (c *shifted) Row(r *Row) {
	r.trained(func(i int, m *formats.Message) bool {
		n := len(m.TokenIDs)
		c.before.add(m.PromptDeltaIDs, m.TokenIDs, r, i, "begins with its prompt's last id")
		if p := sampledBefore(r.Trajectory, i); p >= 0 && m.PrefixBreak == "" {
			c.after.add(r.Trajectory.Messages[p].TokenIDs, m.PromptDeltaIDs, r, p, "ends with the first id after it")
		}
		if n < 2 || outcomes.Finish(m.FinishReason, nil) != outcomes.FinishEnded {
			return true
		}
		c.Of++
		first, prior, last := m.TokenIDs[0], m.TokenIDs[n-2], m.TokenIDs[n-1]
		c.last.add(last, r, i, "ends with")
		if first != last && slices.Contains(m.PromptDeltaIDs, first) {
			c.first.add(first, r, i, beginning)
		}
		if prior != last && slices.Contains(m.PromptDeltaIDs, prior) {
			c.prior.add(prior, r, i, beforeEnd)
		}
		return true
	})
}

func (c *shifted) found(k *Check) []Finding {
	if c.Of < minEnded {
		return nil
	}
	ended := false
	for id, e := range c.last {
		if float64(e.n) < endShare*float64(c.Of) {
			continue
		}
		ended = true
		c.odd(c.first[id])
		c.odd(c.prior[id])
	}
	if !ended {
		for _, place := range []edges{c.first, c.prior} {
			for _, e := range place {
				if float64(e.n) >= commonShare*float64(c.Of) {
					c.odd(e)
				}
			}
		}
	}
	for _, s := range []*seam{&c.before, &c.after} {
		if s.of >= minEnded && float64(s.same.N) >= commonShare*float64(s.of) {
			c.N = max(c.N, s.same.N)
			c.Count.First = s.same.First
		}
	}
	slices.SortFunc(c.Count.First, func(a, b Place) int { return int(a.Row - b.Row) })
	return c.Count.found(k)
}

func (c *shifted) odd(e *edge) {
	if e == nil {
		return
	}
	c.N += e.n
	if len(c.Count.First) < MaxPlaces {
		c.Count.First = append(c.Count.First, e.at)
	}
}
