package randomtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
)

// writer makes the payloads of one group. Text and ids of a group are in a few
// large blocks, of which rows take slices.
type writer struct {
	o    Options
	v    *vocabulary
	r    splitMix
	text []byte
	ids  []int32

	system, question, example string
	promptIDs                 []int32 // of system and question
}

const tools = `[{"type":"function","function":{"name":"search","description":"search the collection",` +
	`"parameters":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}}]`

func newWriter(seed int64, group int, o Options) *writer {
	w := &writer{o: o, v: language(), r: splitMix(formats.Seed(seed, "random payload", strconv.Itoa(group)))}
	var systemIDs, questionIDs []int32
	w.system, systemIDs, _ = w.words(max(1, o.PromptTokens*3/10), false)
	w.question, questionIDs, _ = w.words(max(1, o.PromptTokens*2/10), false)
	w.promptIDs = append(append(w.promptIDs, systemIDs...), questionIDs...)
	example := fmt.Appendf(nil, `{"id":"example-%06d","question":`, group)
	w.example = string(fmt.Appendf(quote(example, w.question), `,"answer":"%d"}`, group))
	return w
}

// grow makes room for n more tokens and for the word that exceeds them, in
// blocks that are large enough for most of the group.
func (w *writer) grow(n int) {
	const longest = 10 // bytes for each token of any word
	block := (w.o.PromptTokens + w.o.SampledTokens) * w.o.Generations
	if need := n + len(word{}.ids); cap(w.ids)-len(w.ids) < need {
		w.ids = make([]int32, 0, max(need, block))
	}
	if need := longest*n + len(word{}.text); cap(w.text)-len(w.text) < need {
		w.text = make([]byte, 0, max(need, 5*block))
	}
}

// uniform returns a number in [n/2, 3n/2).
func (w *writer) uniform(n int) int { return n/2 + int(w.r.Uint64()%uint64(max(n, 1))) }

// words makes n tokens of text, or one or two more, with their ids and, for
// sampled text, their log probabilities.
func (w *writer) words(n int, sampled bool) (string, []int32, []float32) {
	w.grow(n)
	text, ids := w.text[len(w.text):], w.ids[len(w.ids):]
	for v := w.v; len(ids) < n; {
		d := &v.words[v.draw[w.r.Uint64()%uint64(len(v.draw))]]
		text = append(text, d.text[:]...)[:len(text)+int(d.size)]
		ids = append(ids, d.ids[:]...)[:len(ids)+int(d.tokens)]
	}
	w.text, w.ids = w.text[:len(w.text)+len(text)], w.ids[:len(w.ids)+len(ids)]
	var logprobs []float32
	if sampled {
		logprobs = w.logprobs(ids)
	}
	return formats.Text(text), slices.Clip(ids), logprobs
}

// logprobs draws one log probability for each token: its logit minus a
// logsumexp that is a little or much larger.
func (w *writer) logprobs(ids []int32) []float32 {
	out := make([]float32, len(ids))
	v := w.v
	for i, id := range ids {
		bits := w.r.Uint64()
		logit := v.logits[uint64(id)%uint64(len(v.logits))]
		above := float32(v.above[bits%uint64(len(v.above))] * (1 + float32(float32(bits>>12&0xfffff)/0x100000)))
		out[i] = logit - (logit + above)
	}
	return out
}

// trajectory fills in a row.
func (w *writer) trajectory(t *formats.Trajectory, h head) {
	o := w.o
	*t = formats.Trajectory{
		TrajectoryID: h.id, Run: o.Run, ExampleID: h.example, Epoch: int32(o.Epoch), Generation: int32(h.generation),
		Example: w.example, Status: h.status, StopReason: h.stop, FailureClass: h.failure,
	}
	if h.failure != "" {
		t.Error = "the attempt failed: " + h.failure
	}
	if h.status != outcomes.StatusSkipped {
		w.conversation(t, h)
	}
	if o.Scored {
		t.Reward, t.Rewards, _ = h.rewards()
	}
	t.SetPayloadDigest()
}

// conversation makes the system and user messages and then turns of the model,
// all but the last with a tool call and its answer.
func (w *writer) conversation(t *formats.Trajectory, h head) {
	o := w.o
	turns := max(1, (w.uniform(2*(o.Messages-1))+2)/4)
	version := int64(o.Epoch)
	t.Model, t.PolicyVersion, t.ToolSets = "random-policy", &version, []string{tools}
	t.StartedAt = 1_767_225_600_000_000 + int64(h.group)*1_000_000
	t.FinishedAt = t.StartedAt + int64(turns)*350_000
	t.Attempts = 1
	t.Messages = append(make([]formats.Message, 0, 2*turns+2),
		formats.Message{Parent: -1, Role: "system", Content: w.system, Call: -1},
		formats.Message{Parent: 0, Role: "user", Content: w.question, Call: -1})
	t.Calls = make([]formats.Call, 0, turns+1)
	if !o.NoTokens && h.failure != outcomes.FailNoLogprobs {
		t.TokenSource = schema.TokensChoice
	}
	delta, tokens := w.promptIDs, w.uniform(o.SampledTokens)/turns
	for left := turns - 1; left >= 0; left-- {
		w.answer(t, len(t.Messages)-1, tokens, delta)
		if left > 0 {
			delta = w.toolAnswer(t, w.uniform(o.PromptTokens/2)/(turns-1))
		}
	}
	if w.r.Float64() < o.Branches {
		w.answer(t, 1, o.SampledTokens/8, w.promptIDs)
		t.Messages[len(t.Messages)-1].Branch = "retry"
	}
	t.Answer = t.Messages[len(t.Messages)-1].Content
	if h.status == outcomes.StatusTruncated {
		t.Messages[len(t.Messages)-1].FinishReason = "length"
	}
}

// splitMix is Steele, Lea and Flood's SplitMix64: one draw for each token must
// be very cheap.
type splitMix uint64

func (r *splitMix) Uint64() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *splitMix) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// answer appends a call to the model, and its message with a parent.
func (w *writer) answer(t *formats.Trajectory, parent, tokens int, delta []int32) {
	text, ids, logprobs := w.words(max(1, tokens), true)
	prompt := int32(len(delta))
	if n := len(t.Calls); n > 0 && parent > 1 {
		prompt += t.Calls[n-1].PromptTokens + t.Calls[n-1].CompletionTokens
	}
	m := formats.Message{
		Parent: int32(parent), Role: "assistant", Content: text, Sampled: true, FinishReason: "stop",
		Call: int32(len(t.Calls)),
	}
	if t.TokenSource != "" {
		m.TokenIDs, m.Logprobs, m.PromptDeltaIDs = ids, logprobs, delta
	}
	t.Messages = append(t.Messages, m)
	t.Calls = append(t.Calls, formats.Call{
		Model: "random-policy", PolicyVersion: t.PolicyVersion, Sampling: `{"temperature":1,"max_tokens":4096}`, Target: true,
		PromptTokens: prompt, CompletionTokens: int32(len(ids)), LatencyMS: int64(len(ids)) * 9, Attempts: 1,
	})
	t.PromptTokens += prompt
	t.CompletionTokens += int32(len(ids))
	t.SampledTokens += int32(len(m.TokenIDs))
}

// toolAnswer adds a tool call to the last message and appends the tool's
// message. It returns the token ids of that.
func (w *writer) toolAnswer(t *formats.Trajectory, tokens int) []int32 {
	last := len(t.Messages) - 1
	id := "call_" + strconv.FormatUint(w.r.Uint64(), 36)
	query, _, _ := w.words(6, false)
	arguments := append(quote([]byte(`{"query":`), query), '}')
	t.Messages[last].ToolCalls = []formats.ToolCall{{ID: id, Name: "search", Arguments: string(arguments)}}
	t.Messages[last].FinishReason = "tool_calls"
	text, ids, _ := w.words(max(1, tokens), false)
	t.Messages = append(t.Messages,
		formats.Message{Parent: int32(last), Role: "tool", Content: text, ToolCallID: id, Call: -1})
	return ids
}

// quote appends text as a JSON string. The only character of the language that
// needs an escape is the line end.
func quote(b []byte, text string) []byte {
	return append(append(append(b, '"'), strings.ReplaceAll(text, "\n", `\n`)...), '"')
}
