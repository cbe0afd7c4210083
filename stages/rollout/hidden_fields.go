package rollout

import (
	"cmp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// hidden returns the example as the agent may see it: without the fields of
// Hide, and without the question and the answer when their columns are among
// these. The row keeps the whole example.
func (o *Options) hidden(e formats.Example) formats.Example {
	unstructured := e.Question == string(e.Fields)
	for _, path := range o.Hide {
		e.Fields, _ = without(e.Fields, path)
		switch path {
		case cmp.Or(o.Columns.Question, "question"):
			e.Question = ""
		case cmp.Or(o.Columns.Answer, "answer"):
			e.Answer = ""
		case cmp.Or(o.Columns.GeneratedAnswer, "generated_answer"):
			e.GeneratedAnswer = ""
		}
	}
	if unstructured {
		e.Question = string(e.Fields)
	}
	return e
}

// without removes the field of that name or, if there is none, at that path: the
// names of nested objects, separated by dots.
func without(fields []byte, path string) (rest []byte, found bool) {
	o := jsontext.ParseObject(fields)
	if o.Drop(path) {
		return o.Bytes(), true
	}
	name, inner, nested := strings.Cut(path, ".")
	if !nested {
		return fields, false
	}
	value, found := without(o.Get(name), inner)
	if !found {
		return fields, false
	}
	o.Set(name, value)
	return o.Bytes(), true
}

// checkHide refuses a field that would not be hidden: a misspelt one would reach
// every agent.
func (o *Options) checkHide() error {
	for _, path := range o.Hide {
		if path == cmp.Or(o.Columns.ID, "id") {
			return agents.Usage("rename the column, or choose another with --id-key",
				"--hide %s: agents always get the example's id", path)
		}
		found := false
		for i := 0; i < o.Examples.Len() && !found; i++ {
			e, err := o.Examples.At(i)
			if err != nil {
				return err
			}
			_, found = without(e.Fields, path)
		}
		if !found {
			return agents.Usage("name a column of the examples, or a path such as grading.rubric",
				"--hide %s: no example has this field", path)
		}
	}
	return nil
}
