package rewards

import (
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

// JSON checks whether an answer is valid JSON: 1 if it parses, fits the schema, if there is one,
// and holds the expected value, if there is one; else 0.
//
//	json:whole                                  the answer is JSON
//	json:fenced,schema=move.schema.json         its last ``` block fits a schema
//	json:whole,at=city.name,field=capital       a value equals the example's field
//	json:whole,at=ok,text=true                  a value equals a literal
//
// A schema is JSON Schema 2020-12 or draft-07, its multipleOf are whole
// numbers, and it is complete in its file: external references are not fetched.
// Values are equal as JSON, whatever the order of keys.
var JSON = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "json",
	Help: "check that the answer is JSON, fits a schema and has an expected value",
	New:  func() score.RewardSettings { return &JSONSettings{Mode: whole} },
}}

// The part of the answer that is read.
const (
	whole  = "whole"
	fenced = "fenced"
)

type JSONSettings struct {
	Mode   string
	Schema string  // a file; "": any JSON
	At     *string // path in the answer
	Field  *string // of the example, that the value at At must equal
	Text   *string // a literal, in place of the field
}

func (s *JSONSettings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &s.Mode, "mode", "read this `PART` of the answer: the whole of it, or its last fenced block", whole,
		fenced).FirstInSpec()
	d.String(&s.Schema, "schema", "require the JSON schema in this `FILE`")
	d.OptionalString(&s.At, "at", "compare the value at this `PATH` of keys and indexes, separated by dots")
	d.OptionalString(&s.Field, "field", "require the value of this `FIELD` of the example")
	d.OptionalString(&s.Text, "text", "require the value of this `JSON`; it must be last, and may contain commas").LastInSpec()
}

func (s *JSONSettings) Reward(score.Setup) (score.Reward, error) {
	r := &jsonReward{fenced: s.Mode == fenced, at: s.At}
	d := score.Description{Detail: score.Light}
	if s.Field != nil && *s.Field != "" {
		d.Detail = score.Head
	}
	switch {
	case s.Field != nil && s.Text != nil:
		return nil, errors.New("give field=NAME or text=JSON, not both")
	case s.At != nil && s.Field == nil && s.Text == nil:
		return nil, fmt.Errorf("at=%s needs field=NAME or text=JSON to compare with", *s.At)
	case s.Field != nil:
		r.wanted = func(row *score.Row) (any, error) { return row.Field(*s.Field) }
	case s.Text != nil:
		literal, ok := parse(*s.Text)
		if !ok {
			return nil, fmt.Errorf("text=%s is not JSON", *s.Text)
		}
		r.wanted = func(*score.Row) (any, error) { return literal, nil }
	}
	var err error
	if s.Schema != "" {
		d.Files = []string{s.Schema}
		r.schema, err = compile(s.Schema)
	}
	return newOfRow(d, r.value), err
}
