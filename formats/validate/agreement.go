package validate

import (
	"hash/maphash"
	"math"
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats"
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
