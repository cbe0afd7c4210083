package terminal

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/rollmill/rollmill/stages"
)

// state is what is shown of a meter.
type state struct {
	stages.Progress
	rate float64       // a second, over the window
	left time.Duration // 0 if unknown
}

// name returns the stage, and whether it is about held-out examples.
func (s state) name() string {
	if s.Validation {
		return "validation " + s.Stage
	}
	return s.Stage
}

func (s state) failed() (n int64) {
	for _, k := range s.Failures {
		n += k
	}
	return n
}

// attrs returns the state for a structured log.
func (s state) attrs() []any {
	out := []any{"stage", s.Stage, "done", s.Done, "unit", s.Unit, "per_second", s.rate, "retries", s.Retries}
	say := func(when bool, name string, value any) {
		if when {
			out = append(out, name, value)
		}
	}
	say(s.Run != "", "run", s.Run)
	if s.Epoch != nil {
		out = append(out, "epoch", *s.Epoch)
	}
	say(s.Validation, "validation", true)
	say(s.Total > 0, "total", s.Total)
	say(s.left > 0, "seconds_left", s.left.Seconds())
	say(s.Spend.Tokens() > 0, "prompt_tokens", s.Spend.PromptTokens)
	say(s.Spend.Tokens() > 0, "completion_tokens", s.Spend.CompletionTokens)
	say(s.Spend.Cost > 0, "cost", s.Spend.Cost)
	say(s.Note != "", "note", s.Note)
	if len(s.Failures) > 0 {
		var classes []any
		for _, name := range slices.Sorted(maps.Keys(s.Failures)) {
			classes = append(classes, slog.Int64(name, s.Failures[name]))
		}
		out = append(out, slog.Group("failures", classes...))
	}
	return out
}
