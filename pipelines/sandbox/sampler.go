package sandbox

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// sampling is how an answer is drawn.
type sampling struct {
	temperature float64 // 0: always the most likely word
	topP        float64
	maxTokens   int
	seed        uint64
	stop        []string
	top         int      // alternatives to keep at each token
	calling     *calling // nil for a request without tools
}

// answer is what the policy wrote. The logprobs are those of the distribution that was drawn
// from: after temperature and top-p. Greedy answers have the logprobs of temperature 1. The end
// mark is one of the tokens, but not of the text.
type answer struct {
	ids      []int
	logprobs []float64
	tops     [][]ranked
	text     string
	calls    []called // of each token, what it adds to the message's tool calls; nil for a text
	finish   string   // stop, length, tool_calls
	stopped  *string  // the stop string that ended it, or nil
}

type ranked struct {
	id      int
	logprob float64
}

// sample writes the choice-th answer to a prompt. It depends only on its
// arguments and the weights.
func (p *policy) sample(v *view, s sampling, choice int) answer {
	a := answer{}
	random := rand.New(rand.NewPCG(s.seed, uint64(choice)*0x9e3779b97f4a7c15+1))
	h := make([]float64, p.hidden)
	for ph := v.begin(); ; ph = phaseAfter(a.ids[len(a.ids)-1]) {
		if len(a.ids) == s.maxTokens {
			a.finish = "length"
			return a
		}
		var chances [words + 1]float64
		logits := (*[words]float64)(chances[:words])
		p.logits(v, ph, h, logits)
		logp, first := chances[:words], len(a.ids) == 0 && s.calling != nil
		if first {
			logp = s.calling.offer(&chances)
		}
		w := s.draw(logp, random)
		if first && w == words {
			return s.call(random, logp)
		}
		a.ids = append(a.ids, v.token(w))
		a.logprobs = append(a.logprobs, logp[w])
		if s.top > 0 {
			top := rank(logp, s.top)
			for i := range top {
				top[i].id = v.token(top[i].id - firstWord)
			}
			a.tops = append(a.tops, top)
		}
		if a.ended(v.token(w), s.stop) {
			a.finish = "stop"
			return a
		}
	}
}

// ended adds a token's text and reports whether the answer ends with it.
func (a *answer) ended(id int, stop []string) bool {
	if id == tokenEnd {
		return true
	}
	a.text += tokenText(id)
	for _, s := range stop {
		if at := strings.Index(a.text, s); at >= 0 {
			a.text, a.stopped = a.text[:at], &s
			return true
		}
	}
	return false
}

// draw picks one of several words and leaves in logp the distribution that it drew from.
func (s sampling) draw(logp []float64, random *rand.Rand) int {
	if s.temperature == 0 {
		normalise(logp)
		return rank(logp, 1)[0].id - firstWord
	}
	for i := range logp {
		logp[i] /= s.temperature
	}
	normalise(logp)
	if s.topP < 1 {
		s.cut(logp)
	}
	u, last := random.Float64(), 0
	for w, x := range logp {
		if math.IsInf(x, -1) {
			continue
		}
		last = w
		if u -= math.Exp(x); u < 0 {
			return w
		}
	}
	return last
}

// cut keeps the most likely words that together reach top-p.
func (s sampling) cut(logp []float64) {
	sum := 0.0
	for _, r := range rank(logp, len(logp)) {
		if sum >= s.topP && sum > 0 {
			logp[r.id-firstWord] = math.Inf(-1)
		}
		sum += math.Exp(r.logprob)
	}
	normalise(logp)
}

// rank lists the n most likely words.
func rank(logp []float64, n int) []ranked {
	all := make([]ranked, len(logp))
	for w, x := range logp {
		all[w] = ranked{firstWord + w, x}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.logprob, a.logprob) })
	return all[:min(n, len(all))]
}
