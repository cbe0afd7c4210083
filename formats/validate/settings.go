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
	byMode  bool                                          // the check depends on calls.logprobs_mode
	unknown bool                                          // calls.logprobs_mode is null in a call that was checked
	known   map[string]formats.Sampling
}

// maxKnown is how many different settings are cached.
const maxKnown = 256

func newSettings(byMode bool, judge func(*formats.Call, *formats.Sampling) string) func() checker {
	return func() checker {
		return &settings{judge: judge, byMode: byMode, known: map[string]formats.Sampling{}}
	}
}

func (c *settings) Row(r *Row) {
	t := r.wide()
	if t == nil {
		return
	}
	c.Of++
	for i := range t.Calls {
		call := &t.Calls[i]
		if !call.Target {
			continue
		}
		s := c.parsed(call)
		if sort := c.judge(call, &s); sort != "" {
			c.unknown = c.unknown || call.LogprobsMode == ""
			c.Add(r, sort, "call %d", i)
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

// found sets the basis to engine where no one asked the engine whether its logprobs are raw.
func (c *settings) found(k *Check) []Finding {
	found := c.Count.found(k)
	for i := range found {
		if c.byMode && c.unknown {
			found[i].Basis = Engine
			found[i].What += "; unless the engine gives processed logprobs, which `rollmill check` asks it"
		}
	}
	return found
}

var newTemperature = newSettings(true, func(c *formats.Call, s *formats.Sampling) string {
	if s.Temperature == nil || *s.Temperature == 1 || c.LogprobsMode == formats.LogprobsProcessed {
		return ""
	}
	return fmt.Sprintf("at temperature %g", *s.Temperature)
})

var newReshaped = newSettings(true, func(c *formats.Call, s *formats.Sampling) string {
	if c.LogprobsMode == formats.LogprobsProcessed {
		return ""
	}
	return strings.Join(s.Reshaped(), " and ")
})

// Processed logprobs of a truncated distribution are those of the sampled
// distribution, but the trainer computes its own over all tokens.
var newTruncatedSupport = newSettings(false, func(_ *formats.Call, s *formats.Sampling) string {
	return strings.Join(s.Truncated(), " and ")
})

var newAmbiguousCalls = newSettings(false, func(_ *formats.Call, s *formats.Sampling) string {
	if s.AmbiguousCalls {
		return "by index, id or name"
	}
	return ""
})

var newUnchecked = newSettings(false, func(_ *formats.Call, s *formats.Sampling) string {
	if s.NoUsage {
		return "without usage"
	}
	return ""
})

var newConstrained = newSettings(false, func(_ *formats.Call, s *formats.Sampling) string {
	return s.Constrained()
})
