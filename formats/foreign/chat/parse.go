package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
)

// Parse converts a row.
func Parse(record *importers.Record) ([]importers.Item, error) { return parse(record, true) }

// parse is Parse; its errors suggest columns if hints is set.
func parse(record *importers.Record, hints bool) ([]importers.Item, error) {
	r := row{Record: record, hints: hints}
	r.split()
	if v := r.columns[instruction].value; len(v) > 0 && v[0] == '"' && !r.has(prompt) && !r.has(messages) {
		r.alpaca()
	}
	switch {
	case r.has(chosen) && r.has(rejected):
		return r.preference(), nil
	case r.has(completions) && r.has(context):
		return r.ranked(), nil
	case r.has(completions) && r.has(prompt):
		return r.stepwise(), nil
	case r.has(completion) && r.has(prompt):
		return r.prompted(), nil
	case r.has(messages):
		return r.conversation(), nil
	case r.has(prompt):
		return r.prompted(), nil
	case r.has(text):
		return r.plain(), nil
	}
	return nil, r.unknown()
}

// alpaca makes a prompt of an instruction and its input, and a completion of the output.
func (r *row) alpaca() {
	instructed := r.text(instruction)
	if about := r.text(input); about != "" {
		instructed += "\n" + about
	}
	r.columns[prompt] = column{name: r.name(instruction), value: value.Join([][]byte{said("user", importers.Quote(instructed))})}
	if r.has(output) && !r.has(completion) {
		r.columns[completion] = column{name: r.name(output), value: r.take(output)}
	}
}

// before adds the messages of the history: pairs of an instruction and its answer, or
// messages. Its answers are sampled, as LLaMA-Factory and ms-swift train them, unless the row
// says something of its own answer alone.
func (r *row) before(c *Reader) {
	if r.has(history) {
		alone := !r.has(completion) || slices.ContainsFunc([]field{label, reward, rewards, tokenIDs, logprobs, promptTokenIDs}, r.has)
		c.Add(value.Join(r.turns(r.take(history))), !alone)
	}
}

func (r *row) turns(v []byte) (list [][]byte) {
	if v[0] != '[' {
		must.Fail("column %q is %s, not a list", r.name(history), importers.Brief(v))
	}
	if isMessages(v) {
		return elements(v)
	}
	for turn := range jsontext.Elements(v) {
		if isEvent(turn) {
			must.Fail("column %q has no turns%s", r.name(history), ofEvents)
		}
		pair := elements(turn)
		if len(pair) != 2 || pair[0][0] != '"' || pair[1][0] != '"' {
			must.Fail("column %q: %s is not an instruction and its answer", r.name(history), importers.Brief(turn))
		}
		list = append(list, said("user", pair[0]), said("assistant", pair[1]))
	}
	return list
}

// said returns a message; its content is JSON.
func said(role string, content []byte) []byte {
	return append(append(fmt.Appendf(nil, `{"role":%q,"content":`, role), content...), '}')
}

// start gives a conversation the system prompt, the tools and the model of the row.
func (r *row) start(c *Reader) {
	c.Record = r.Record
	if r.has(tools) {
		definitions, err := value.ChatTools(r.Sparse(r.take(tools)))
		if err != nil {
			must.Fail("column %q: %w", r.name(tools), err)
		}
		c.Offer(definitions)
	}
	c.Call.Model = r.text(model)
	r.version(&c.Call)
	if v := r.columns[parallelToolCalls].value; string(v) == "true" || string(v) == "false" {
		c.Call.Sampling = `{"parallel_tool_calls":` + string(r.take(parallelToolCalls)) + "}"
	}
	if r.has(system) {
		v := r.take(system)
		if v[0] != '"' {
			must.Fail("column %q is %s, not text", r.name(system), importers.Brief(v))
		}
		c.System = jsontext.Unquote(v)
	}
}

// version sets the policy's version, which is a whole number.
func (r *row) version(call *formats.Call) {
	if !r.has(policyVersion) {
		return
	}
	v := r.take(policyVersion)
	n, err := strconv.ParseInt(strings.TrimSuffix(value.Scalar(v), ".0"), 10, 64)
	if err != nil {
		must.Fail("column %q is %s, not a whole number", r.name(policyVersion), importers.Brief(v))
	}
	call.PolicyVersion = &n
}

func (r *row) conversation() []importers.Item {
	var c Reader
	r.begin(&c, messages, true)
	items := r.single(&c)
	if len(c.Messages) == 0 {
		items[0].Row.Status = outcomes.StatusSkipped // blank, as some rows of public datasets are
	}
	return items
}

// prompted reads a prompt, and its answer if one was sampled.
func (r *row) prompted() []importers.Item {
	var c Reader
	r.start(&c)
	r.before(&c)
	r.append(&c, prompt, false)
	if r.has(completion) {
		r.append(&c, completion, true)
	}
	return r.single(&c)
}

// plain reads the text of a language modelling dataset: an answer without a prompt.
func (r *row) plain() []importers.Item {
	if r.columns[text].value[0] != '"' {
		must.Fail("column %q is %s, not text", r.name(text), importers.Brief(r.take(text)))
	}
	var c Reader
	r.start(&c)
	c.AddText("assistant", r.text(text), true)
	return r.single(&c)
}

// stepwise reads the steps of an answer and which of them are correct.
func (r *row) stepwise() []importers.Item {
	var c Reader
	r.begin(&c, prompt, false)
	steps := 0
	for e := range jsontext.Elements(r.take(completions)) {
		if e[0] != '"' {
			must.Fail("column %q: step %d is %s, not text", r.name(completions), steps, importers.Brief(e))
		}
		c.AddText("assistant", jsontext.Unquote(e), true)
		steps++
	}
	if steps == 0 {
		must.Fail("column %q is %s, not a list of steps", r.name(completions),
			importers.Brief(r.columns[completions].value))
	}
	var shaped []float64
	for e := range jsontext.Elements(r.take(labels)) {
		on, ok := value.Truth(e)
		if !ok {
			must.Fail("column %q: %s is neither true nor false", r.name(labels), importers.Brief(e))
		}
		shaped = append(shaped, rewardOf(on))
	}
	if r.has(labels) && len(shaped) != steps {
		must.Fail("%d labels for %d steps", len(shaped), steps)
	}
	items := r.single(&c)
	items[0].Row.ShapedRewards = shaped
	return items
}

func rewardOf(label bool) float64 {
	if label {
		return 1
	}
	return 0
}

// begin starts a conversation with the messages of a field.
func (r *row) begin(c *Reader, f field, sampled bool) {
	r.start(c)
	r.append(c, f, sampled)
}

// append adds the messages of a field, or its text as one.
func (r *row) append(c *Reader, f field, sampled bool) {
	list, plain := r.listOf(f)
	switch {
	case list != nil:
		defer r.in(f)
		c.Add(list, sampled)
	case f == messages:
		must.Fail("column %q is the text %s, not a list of messages", r.name(f), importers.Brief([]byte(plain)))
	case sampled:
		c.AddText("assistant", plain, true)
	default:
		c.AddText("user", plain, false)
	}
}

func (r *row) listOf(f field) (list []byte, plain string) {
	defer r.in(f)
	return listOf(r.Record, r.take(f))
}

// listOf returns a list of messages, of which one message and JSON text with
// either are other forms; else it is text, and the list is nil.
func listOf(r *importers.Record, v []byte) (list []byte, plain string) {
	switch v[0] {
	case '[':
		return v, ""
	case '{':
		return slices.Concat([]byte("["), v, []byte("]")), ""
	case '"':
		plain = jsontext.Unquote(v)
		if inner := strings.TrimSpace(plain); strings.HasPrefix(inner, "[") {
			var reading jsontext.Reading
			if list, ok := reading.Value([]byte(inner)); ok && (string(list) == "[]" || isMessages(list)) {
				r.LoseAll(reading.Lost)
				return list, ""
			}
			if reading.Refused != nil {
				importers.Refuse(reading.Refused)
			}
		}
		return nil, plain
	}
	must.Fail("it is %s, neither messages nor text", importers.Brief(v))
	return nil, ""
}

// single makes the item of a row that has one trajectory.
func (r *row) single(c *Reader) []importers.Item {
	items := r.Items(1)
	x := &items[0]
	x.Row.TrajectoryID = r.id(id)
	r.setTokens(c, &x.Row)
	r.setRewards(x)
	r.setLog(x)
	c.Into(&x.Row)
	r.finish(x, c)
	return items
}

// finish sets what the items of a row have in common. It is last, since
// metadata is what nothing has read.
func (r *row) finish(x *importers.Item, c *Reader) {
	x.Row.ExampleID = r.id(exampleID)
	x.NumberID = x.Row.ExampleID != "" && r.columns[exampleID].value[0] != '"'
	x.Row.Example = r.example()
	if len(c.Calls) == 0 { // they have no place: they belong to calls
		for _, f := range []field{model, policyVersion, parallelToolCalls} {
			r.columns[f].read = false
		}
	}
	m := r.metadata()
	c.OtherInto(&m)
	x.Row.Metadata = m.String()
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

// give adds a named reward to the total.
func give(t *formats.Trajectory, name string, x float64) {
	total := x
	if t.Reward != nil {
		total += *t.Reward
	}
	t.Reward = &total
	t.Rewards = append(t.Rewards, formats.NamedReward{Name: name, Value: &x, Weight: 1})
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
