package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// episode is a trajectory with its tokens and its advantage.
type episode struct {
	tokens []written
	reward float64
	size   float64  // mean absolute advantage of the tokens
	key    [32]byte // digest of everything that its gradient depends on
}

// newBatch computes the advantages of the groups and returns the episodes to
// train on, in an order that does not depend on the order of arrival.
func newBatch(groups []trajectoryGroup, r reader, scale bool) ([]episode, error) {
	var sorted [][]episode
	for g, group := range groups {
		members := make([]episode, len(group.Trajectories))
		for i := range group.Trajectories {
			e, err := newEpisode(&group.Trajectories[i], r)
			if err != nil {
				return nil, fmt.Errorf("group %d, trajectory %d, %w", g, i, err)
			}
			members[i] = e
		}
		slices.SortFunc(members, func(a, b episode) int { return bytes.Compare(a.key[:], b.key[:]) })
		sorted = append(sorted, members)
	}
	slices.SortFunc(sorted, func(a, b []episode) int {
		return slices.CompareFunc(a, b, func(x, y episode) int { return bytes.Compare(x.key[:], y.key[:]) })
	})
	var batch []episode
	for _, members := range sorted {
		batch = append(batch, withAdvantage(members, scale)...)
	}
	balance(batch)
	return batch, nil
}

func newEpisode(t *trajectory, r reader) (episode, error) {
	e := episode{reward: *t.Reward}
	for h, history := range t.histories() {
		tokens, err := r.read(history)
		if err != nil {
			return e, fmt.Errorf("history %d, %w", h, err)
		}
		e.tokens = append(e.tokens, tokens...)
	}
	e.key = e.digest()
	return e, nil
}

func (e *episode) digest() [32]byte {
	h := sha256.New()
	binary.Write(h, binary.BigEndian, math.Float64bits(e.reward))
	for _, t := range e.tokens {
		for _, s := range t.view.board {
			h.Write([]byte{byte(s)})
		}
		binary.Write(h, binary.BigEndian, []uint64{uint64(t.phase), uint64(t.id), math.Float64bits(t.old)})
		if !math.IsNaN(t.gain) {
			binary.Write(h, binary.BigEndian, math.Float64bits(t.gain))
		}
	}
	return [32]byte(h.Sum(nil))
}

// withAdvantage returns the members with a training signal: a group of one has
// nothing to compare with, and an advantage of exactly 0 has no gradient.
func withAdvantage(members []episode, scale bool) []episode {
	mean, spread := 0.0, 0.0
	for _, m := range members {
		mean += m.reward
	}
	mean /= float64(len(members))
	for _, m := range members {
		spread += (m.reward - mean) * (m.reward - mean)
	}
	spread = math.Sqrt(spread / float64(len(members)))
	var kept []episode
	for _, m := range members {
		gain := m.reward - mean
		if scale {
			gain /= spread + 1e-6
		}
		if m.credit(gain); m.size != 0 {
			kept = append(kept, m)
		}
	}
	return kept
}

// credit gives the trajectory's advantage to the tokens that have none of their own.
func (e *episode) credit(gain float64) {
	for i := range e.tokens {
		t := &e.tokens[i]
		if math.IsNaN(t.gain) {
			t.gain = gain
		}
		e.size += (math.Abs(t.gain) - e.size) / float64(i+1) // exact where all are equal
	}
}

// balance rescales the advantages to a mean size of 1.
func balance(batch []episode) {
	sum := 0.0
	for _, e := range batch {
		sum += e.size
	}
	for _, e := range batch {
		for i := range e.tokens {
			e.tokens[i].gain *= float64(len(batch)) / sum
		}
	}
}

// passes is the number of passes over a batch. Clipping the ratio makes the second one safe.
const passes = 2

// gradientSteps splits the batch into parts of whole episodes and lists them
// once per pass: n steps in all, fewer if there are fewer episodes.
func gradientSteps(batch []episode, n int) [][]sample {
	once := parts(batch, (n+passes-1)/passes)
	var all [][]sample
	for range passes {
		all = append(all, once...)
	}
	return all[:min(n, len(all))]
}

// parts splits the batch in n. The tokens of an episode share a weight of 1.
func parts(batch []episode, n int) [][]sample {
	n = min(n, len(batch))
	out := make([][]sample, n)
	for k := range n {
		for _, e := range batch[len(batch)*k/n : len(batch)*(k+1)/n] {
			for _, t := range e.tokens {
				out[k] = append(out[k], sample{
					view: t.view, phase: t.phase, word: t.view.word(t.id), old: t.old,
					weight: 1 / float64(len(e.tokens)), gain: t.gain,
				})
			}
		}
	}
	return out
}
