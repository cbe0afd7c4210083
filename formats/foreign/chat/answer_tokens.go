package chat

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/plural"
)

func (r *row) setTokens(c *Reader, t *formats.Trajectory) {
	if len(c.Calls) > 0 && r.has(finishReason) {
		c.Messages[lastSampled(c)].FinishReason = r.text(finishReason)
	}
	if !r.has(tokenIDs) && !r.has(logprobs) && !r.has(promptTokenIDs) {
		for i := range c.Messages {
			if len(c.Messages[i].TokenIDs) > 0 {
				t.TokenSource = "messages.token_ids"
				break
			}
		}
		return
	}
	ids := ofAnswers(r, tokenIDs, len(c.Calls), value.TokenIDs)
	logs := ofAnswers(r, logprobs, len(c.Calls), value.Logprobs)
	prompts := ofAnswers(r, promptTokenIDs, len(c.Calls), value.TokenIDs)
	if r.has(tokenIDs) {
		t.TokenSource = r.name(tokenIDs)
	}
	k := 0
	for i := range c.Messages {
		m := &c.Messages[i]
		if !m.Sampled {
			continue
		}
		m.TokenIDs, m.Logprobs = ids[k], logs[k]
		m.PromptDeltaIDs, m.PrefixBreak = chat.PromptDelta(c.Messages, int(m.Parent), prompts[k], nil)
		c.Calls[k].CompletionTokens, c.Calls[k].PromptTokens = int32(len(ids[k])), int32(len(prompts[k]))
		k++
	}
}

// ofAnswers reads a column for each answer: a list of lists has one for each, another list
// is that of the only answer, and without the column there is none.
func ofAnswers[T any](r *row, f field, answers int, read func([]byte) ([]T, error)) [][]T {
	out := make([][]T, answers)
	if !r.has(f) {
		return out
	}
	v := r.take(f)
	each := elements(v)
	if len(each) == 0 || each[0][0] != '[' {
		each = [][]byte{v}
	}
	if len(each) != answers {
		must.Fail("column %q has tokens of %s, but the row has %s",
			r.name(f), plural.Of(len(each), "answer"), plural.Of(answers, "sampled message"))
	}
	for k := range each {
		var err error
		if out[k], err = read(each[k]); err != nil {
			must.Fail("column %q: %w", r.name(f), err)
		}
	}
	return out
}

func lastSampled(c *Reader) int {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Sampled {
			return i
		}
	}
	return -1
}
