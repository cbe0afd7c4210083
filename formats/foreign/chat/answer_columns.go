package chat

import (
	"cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/plural"
)

// setRewards sets the label, the total and its components.
func (r *row) setRewards(x *importers.Item) {
	if r.has(label) {
		v := r.columns[label].value
		// beside messages a number may be a class
		if on, ok := value.Truth(v); ok && (r.has(completion) || v[0] != '0' && v[0] != '1') {
			r.take(label)
			x.Label = &on
			give(&x.Row, "label", rewardOf(on))
		} else if r.has(completion) {
			must.Fail("column %q is %s, neither true nor false", r.name(label), importers.Brief(r.take(label)))
		}
	}
	r.components(&x.Row)
	x.Row.Reward = cmp.Or(r.number(reward), x.Row.Reward)
}

// components adds named rewards, each of which has the weight 1.
func (r *row) components(t *formats.Trajectory) {
	v := r.columns[rewards].value
	if len(v) == 0 || v[0] != '{' {
		return
	}
	for key, v := range jsontext.Members(r.take(rewards)) {
		x, err := value.Number(v)
		if err != nil {
			must.Fail("column %q: %s: %w", r.name(rewards), key, err)
		}
		if x != nil {
			give(t, string(key), *x)
		}
	}
}

// setLog reads the columns of the completions that TRL's online trainers log:
// step, an advantage, and a reward for each function under its name.
func (r *row) setLog(x *importers.Item) {
	step, advantage := r.rest.Get("step"), r.rest.Get("advantage")
	if step == nil || advantage == nil || !r.has(completion) {
		return
	}
	n, err := value.Number(step)
	if err != nil || n == nil || *n != float64(int32(*n)) {
		must.Fail("column %q is %s, not a step", "step", importers.Brief(step))
	}
	epoch := int32(*n)
	x.Epoch = &epoch
	var rest jsontext.Builder
	for _, m := range r.rest.Object {
		v, err := value.Number(m.Raw)
		switch {
		case m.Key == "step":
		case m.Key == "advantage" || err != nil || v == nil || m.Raw[0] == '"':
			rest.Set(m.Key, m.Raw)
		default:
			give(&x.Row, m.Key, *v)
		}
	}
	r.rest = rest
}

// give adds a named reward to the total.
func give(t *formats.Trajectory, name string, x float64) {
	total := x
	if t.Reward != nil {
		total += *t.Reward
	}
	t.Reward = &total
	t.Rewards = append(t.Rewards, formats.NamedReward{Name: name, Value: &x, Weight: 1})
}

func rewardOf(label bool) float64 {
	if label {
		return 1
	}
	return 0
}

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
