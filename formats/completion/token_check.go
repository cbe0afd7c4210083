package completion

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/outcomes"
)

// Failure says why a trajectory is unfit for training, or how its last call failed.
type Failure struct {
	Class   string // one of outcomes.FailureClasses
	Text    string
	TooLong bool   // the engine refused a prompt that does not fit its context
	Mend    string // what a person has to mend before the engine answers anybody; "" if it refused this request
}

func (f *Failure) Error() string { return f.Text }

func mismatch(format string, args ...any) *Failure {
	return &Failure{Class: outcomes.FailLogprobMismatch, Text: fmt.Sprintf(format, args...)}
}

// keepTokens stores the tokens of a choice in its message if there is exactly one logprob per completion token;
// otherwise it returns the fault and stores none. completion is the engine's token count for this choice; -1 when
// unknown, although it may have counted the tokens of all.
func (c *Choice) keepTokens(completion int, counted bool) (source string, f *Failure) {
	found := c.tokens.withLogprobs()
	logprobs := found.logprobs
	ids, source := c.tokens.bestIDs()
	text := c.Message.Content != "" || c.Message.ContentParts != "" || c.Message.Reasoning != "" || len(c.Message.ToolCalls) > 0
	listed := found.listed || slices.ContainsFunc(c.tokens.ids[:], func(f idList) bool { return f.listed })
	if completion <= 0 && counted && !text && len(ids)+len(logprobs) == 0 && listed {
		c.Message.TokenIDs, c.Message.Logprobs = []int32{}, []float32{} // a fact, and not unknown
		return "", nil
	}
	switch {
	case completion == 0 && found.listed && text && len(logprobs) == 0:
		return "", mismatch("the engine counts 0 completion tokens for an answer that is not empty")
	case !found.listed && (completion > 0 || len(ids) > 0 || c.Message.Content != "" || len(c.Message.ToolCalls) > 0):
		return "", &Failure{Class: outcomes.FailNoLogprobs, Text: "the engine gave no logprobs"}
	case completion >= 0 && len(logprobs) != completion:
		return "", mismatch("%d logprobs for %d completion tokens", len(logprobs), completion)
	case len(ids) > 0 && len(ids) != len(logprobs):
		return "", mismatch("%d logprobs for %d token ids (%s)", len(logprobs), len(ids), source)
	case c.duplicate:
		return "", mismatch("the answer has two choices of index %d", c.Index)
	case c.tokens.contradiction() != "":
		return "", mismatch("%s", c.tokens.contradiction())
	case found.invalid != "":
		return "", &Failure{Class: outcomes.FailBadLogprobs, Text: found.invalid}
	}
	c.Message.Logprobs, c.Message.TokenIDs = logprobs, ids
	if len(ids) == 0 {
		c.Message.TokenTexts = c.TokenTexts() // for trainers that take texts
	}
	return source, nil
}

// KeepTokens stores the tokens of every choice. An engine counts the completion tokens of all choices together, so with
// several choices each is checked against its own ids, and their sum against the count.
func (a *Answer) KeepTokens() (source string, failure *Failure) {
	completion, total := -1, 0
	if a.Usage.Known && len(a.Choices) == 1 {
		completion = int(a.Usage.Completion)
	}
	for _, c := range a.Choices {
		s, f := c.keepTokens(completion, a.Usage.Known)
		source = cmp.Or(source, s) // one choice may have ids where another does not
		if failure == nil {
			failure = f
		}
		total += len(c.Message.Logprobs)
	}
	if failure == nil && a.Usage.Known && total != int(a.Usage.Completion) {
		failure = mismatch("%d logprobs for %d completion tokens", total, a.Usage.Completion)
		for _, c := range a.Choices {
			c.Message.Logprobs, c.Message.TokenIDs, c.Message.TokenTexts = nil, nil, nil
		}
	}
	return source, failure
}
