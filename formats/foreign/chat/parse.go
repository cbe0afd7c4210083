package chat

import (
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
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
