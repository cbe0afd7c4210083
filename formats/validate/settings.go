package validate

import (
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// settings is a check of the sampling settings of target calls.
type settings struct {
	Count
	judge   func(*formats.Call, *formats.Sampling) string // the sort of the problem, or ""
	what    string
	byMode  bool // the check depends on calls.logprobs_mode
	unknown bool // calls.logprobs_mode is null in a call that was checked
	known   map[string]formats.Sampling
}

// maxKnown is how many different settings are cached.
const maxKnown = 256

func newSettings(what string, byMode bool, judge func(*formats.Call, *formats.Sampling) string) func() Checker {
	return func() Checker {
		return &settings{judge: judge, what: what, byMode: byMode, known: map[string]formats.Sampling{}}
	}
}

func (c *settings) Row(r *Row) {
	if r.Trajectory == nil || !r.Valid() {
		return
	}
	c.Of++
	for i := range r.Trajectory.Calls {
		call := &r.Trajectory.Calls[i]
		if !call.Target {
			continue
		}
		s := c.parsed(call)
		if sort := c.judge(call, &s); sort != "" {
			c.unknown = c.unknown || call.LogprobsMode == ""
			c.Add(r, sort, fmt.Sprintf("call %d", i))
			return
		}
	}
}

func (c *settings) parsed(call *formats.Call) formats.Sampling {
	if s, ok := c.known[call.Sampling]; ok {
		return s
	}
	s := call.Settings()
	if len(c.known) < maxKnown {
		c.known[strings.Clone(call.Sampling)] = s
	}
	return s
}

// Found sets the basis to engine where no one asked the engine whether its
// logprobs are raw.
func (c *settings) Found() []Finding {
	found := c.Over(0, "%s", c.what)
	for i := range found {
		if c.byMode && c.unknown {
			found[i].Basis = Engine
			found[i].What += "; unless the engine gives processed logprobs, which `rollmill check` asks it"
		}
	}
	return found
}

var newTemperature = newSettings("trajectories have logprobs of another distribution than was sampled", true, func(c *formats.Call, s *formats.Sampling) string {
	if s.Temperature == nil || *s.Temperature == 1 || c.LogprobsMode == formats.LogprobsProcessed {
		return ""
	}
	return fmt.Sprintf("at temperature %g", *s.Temperature)
})

var newReshaped = newSettings("trajectories were sampled with settings that raw logprobs leave out", true, func(c *formats.Call, s *formats.Sampling) string {
	if c.LogprobsMode == formats.LogprobsProcessed {
		return ""
	}
	return strings.Join(s.Reshaped(), " and ")
})

// Processed logprobs of a truncated distribution are those of the sampled
// distribution, but the trainer computes its own over all tokens.
var newTruncatedSupport = newSettings("trajectories were sampled from some of the tokens alone: a trainer's probabilities are over all of them", false, func(_ *formats.Call, s *formats.Sampling) string {
	return strings.Join(s.Truncated(), " and ")
})

var newConstrained = newSettings("trajectories were sampled under a grammar: engines' logprobs may include its mask, a trainer's do not", false, func(_ *formats.Call, s *formats.Sampling) string {
	return s.Constrained()
})
