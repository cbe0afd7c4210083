package tokens

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	foreign "github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/plural"
)

// answer is what a call gave, behind its whole prompt.
type answer struct {
	prompt, ids []int32 // nil for unknown prompts
	logprobs    []float32
	version     *int64
	masked      bool // it does not train
}

// answers returns the answers of a row.
func (r *row) answers() []answer {
	if r.has(completionTokens) {
		return r.calls()
	}
	s := r.readSequence()
	var out []answer
	from, split := 0, !r.has(messages) // messages say how many answers there are
	for i := 0; i < len(s.ids); i = from {
		begin := slices.Index(s.trains[i:], true)
		if begin < 0 {
			break
		}
		begin += i
		for from = begin; from < len(s.ids) && s.trains[from] && (!split || s.same(begin, from)); from++ {
		}
		out = append(out, s.answer(begin, from))
	}
	switch rest := s.ids[from:]; {
	case len(rest) == 0:
	case len(out) == 0:
		r.meta.Add(inputIDs, asJSON(rest))
	default:
		r.meta.Add("ids_after_the_last_answer", asJSON(rest)) // nothing is sampled after them
	}
	return out
}

// answer returns a run of ones.
func (s *sequence) answer(from, to int) answer {
	a := answer{prompt: s.ids[:from:from], ids: s.ids[from:to:to]}
	if s.logprobs != nil {
		for _, p := range s.logprobs[from:to] {
			a.logprobs = append(a.logprobs, *p)
		}
	}
	for i := from; i < to && s.versions != nil && s.versions[from] >= 0 && s.same(from, i); i++ {
		if i == to-1 {
			a.version = &s.versions[from]
		}
	}
	return a
}

// same reports whether two ids have one version.
func (s *sequence) same(a, b int) bool { return s.versions == nil || s.versions[a] == s.versions[b] }

// calls reads the lists with the ids of each call.
func (r *row) calls() []answer {
	for _, field := range []string{inputIDs, promptIDs, responseIDs, responseMask, responseLogprobs, attentionMask,
		versions} {
		if r.has(field) {
			must.Fail("column %q is of one sequence, but %q has calls", r.Column(field), r.Column(completionTokens))
		}
	}
	out := make([]answer, len(r.lists(completionTokens)))
	ofCalls(r, completionTokens, out, value.TokenIDs, func(a *answer, ids []int32) { a.ids = ids })
	ofCalls(r, promptTokens, out, value.TokenIDs, func(a *answer, ids []int32) { a.prompt = ids })
	ofCalls(r, logprobs, out, value.Logprobs, func(a *answer, p []float32) { a.logprobs = p })
	ofCalls(r, lossMask, out, flags, func(a *answer, mask []bool) {
		trains := slices.Contains(mask, true)
		if len(mask) != len(a.ids) || trains && slices.Contains(mask, false) {
			must.Fail("column %q: a call trains in part, or its mask is not as long as its answer",
				r.Column(lossMask))
		}
		a.masked = !trains
	})
	return out
}

func flags(v []byte) ([]bool, error) {
	out, bad := must.Numbers(v, func(v []byte) (on, ok bool) {
		ok = flag(v, &on)
		return on, ok
	})
	if bad != nil {
		must.Fail("%s is not 0, 1, true or false", importers.Brief(bad))
	}
	return out, nil
}

// lists returns a field's lists, one for each call.
func (r *row) lists(field string) [][]byte {
	list := r.list(field)
	for i, v := range list {
		if v[0] != '[' {
			must.Fail("column %q: value %d is %s, not the list of a call", r.Column(field), i, importers.Brief(v))
		}
	}
	return list
}

// ofCalls sets what a field has for each call.
func ofCalls[T any](r *row, field string, to []answer, read func([]byte) ([]T, error), set func(*answer, []T)) {
	if !r.has(field) {
		return
	}
	list := r.lists(field)
	if len(list) != len(to) {
		must.Fail("column %q has the lists of %s, but %q of %s", r.Column(field), plural.Of(len(list), "call"),
			r.Column(completionTokens), plural.Of(len(to), "call"))
	}
	for i, v := range list {
		values, err := read(v)
		if err != nil {
			must.Fail("column %q: call %d: %w", r.Column(field), i, err)
		}
		set(&to[i], values)
	}
}

// conversation sets the messages and calls of a row.
func (r *row) conversation(t *formats.Trajectory, answers []answer) {
	c := foreign.Reader{Record: r.Record}
	if r.has(tools) {
		definitions, err := value.ChatTools(r.Sparse(r.values[tools]))
		if err != nil {
			must.Fail("column %q: %w", r.Column(tools), err)
		}
		c.Offer(definitions)
	}
	if v := r.values[model]; v != nil {
		c.Call.Model = value.ID(v)
	}
	if r.has(messages) {
		r.texts(&c, len(answers))
	} else {
		for range answers {
			c.AddText("assistant", "", true)
		}
	}
	r.policy(answers)
	last := -1
	for i := range c.Messages {
		if m := &c.Messages[i]; m.Sampled {
			answers[m.Call].fill(&c.Conversation, m)
			last = i
		}
	}
	if last >= 0 {
		c.Messages[last].FinishReason = value.ID(r.values[finishReason])
		for _, field := range []string{completionTokens, inputIDs, responseIDs} {
			if r.has(field) {
				t.TokenSource = r.Column(field)
			}
		}
	}
	c.OtherInto(&r.meta)
	c.Into(t)
}

// texts adds the messages, of which as many are sampled as there are answers.
func (r *row) texts(c *foreign.Reader, answers int) {
	defer must.At("column %q", r.Column(messages))
	c.AddList(r.values[messages])
	if answers == 0 {
		for i := range c.Messages {
			c.Messages[i].Sampled, c.Messages[i].Call = false, -1
		}
		c.Calls = nil
	}
	if len(c.Calls) != answers {
		must.Fail("the assistant has %s that are sampled, and the ids have %s", plural.Of(len(c.Calls), "message"),
			plural.Of(answers, "answer"))
	}
}

// policy sets the versions that the field policy_version has: one, or one for each answer.
func (r *row) policy(answers []answer) {
	if v := r.values[policyVersion]; v == nil || v[0] != '[' {
		n := r.whole(policyVersion)
		for i := range answers {
			answers[i].version = cmp.Or(answers[i].version, n)
		}
		return
	}
	if len(answers) == 0 {
		r.meta.Add(r.Column(policyVersion), r.values[policyVersion])
		return
	}
	r.each(policyVersion, len(answers), "answers", func(i int, v []byte) bool {
		n, err := strconv.ParseInt(strings.TrimSuffix(value.Scalar(v), ".0"), 10, 64)
		answers[i].version = &n
		return err == nil
	}, "a whole number")
}

// fill sets the columns of a message and of its call.
func (a *answer) fill(c *importers.Conversation, m *formats.Message) {
	call := &c.Calls[m.Call]
	m.TokenIDs, m.Logprobs = a.ids, a.logprobs
	m.PromptDeltaIDs, m.PrefixBreak = chat.PromptDelta(c.Messages, int(m.Parent), a.prompt, nil)
	call.PromptTokens, call.CompletionTokens, call.PolicyVersion = int32(len(a.prompt)), int32(len(a.ids)), a.version
	call.Target = call.Target && !a.masked
}
