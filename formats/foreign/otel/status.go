package otel

import (
	"regexp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// status sets the status by the outermost spans, and by the last call.
func (t *trace) status(row *formats.Trajectory) {
	text := t.failure
	class := engineClass(text)
	for _, s := range t.spans {
		if s.failed && (s.parent == "" || t.byID[s.parent] == nil) && s.kind != kindModel {
			if text == "" {
				text = s.failure()
				class = programClass(text)
			}
			break
		}
	}
	switch {
	case text != "":
		importers.Fail(row, class, text)
	case !t.answered:
		importers.Fail(row, outcomes.FailNoCalls, "no call of the model has an answer")
	}
}

var (
	timedOut = regexp.MustCompile(`(?i)time(?:d )?_?-?out|deadline`)
	cancels  = regexp.MustCompile(`(?i)cancel`)
	refused  = regexp.MustCompile(`(?i)\b4(?:0[0-79]|1\d|2[0-8])\b|badrequest|bad_request|invalid_request|authentication|permission|notfound|not_found`)
)

func engineClass(text string) string {
	if refused.MatchString(text) && !timedOut.MatchString(text) {
		return outcomes.FailEngineRefused
	}
	return outcomes.FailEngine
}

func programClass(text string) string {
	switch {
	case timedOut.MatchString(text):
		return outcomes.FailTimeout
	case cancels.MatchString(text):
		return outcomes.FailCancelled
	}
	return outcomes.FailInternal
}
