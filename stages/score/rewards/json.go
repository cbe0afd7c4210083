package rewards

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage/regular"
)

// JSON checks whether an answer is valid JSON: 1 if it parses, fits the
// schema, if there is one, and holds the expected value, if there is one; else
// 0.
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

// JSONSettings are the reward's settings.
type JSONSettings struct {
	Mode   string
	Schema string  // a file; "": any JSON
	At     *string // path in the answer
	Field  *string // of the example, that the value at At must equal
	Text   *string // a literal, in place of the field
}

// Declare declares the settings.
func (s *JSONSettings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &s.Mode, "mode", "read this `PART` of the answer: the whole of it, or its last fenced block", whole,
		fenced).FirstInSpec()
	d.String(&s.Schema, "schema", "require the JSON schema in this `FILE`")
	d.OptionalString(&s.At, "at", "compare the value at this `PATH` of keys and indexes, separated by dots")
	d.OptionalString(&s.Field, "field", "require the value of this `FIELD` of the example")
	d.OptionalString(&s.Text, "text", "require the value of this `JSON`; it must be last, and may contain commas").LastInSpec()
}

// Reward makes the reward.
func (s *JSONSettings) Reward(score.Setup) (score.Reward, error) {
	r := &jsonReward{JSONSettings: s}
	d := score.Description{Needs: score.Light}
	if s.Field != nil && *s.Field != "" {
		d.Needs = score.Head
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

type jsonReward struct {
	*JSONSettings
	schema *jsonschema.Resolved // nil: any JSON
	wanted func(*score.Row) (any, error)
}

// drafts are the supported values of $schema; a schema without one is of the
// last.
var drafts = []string{"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2020-12/schema"}

const maxSchema = 16 << 20 // bytes

func compile(file string) (*jsonschema.Resolved, error) {
	data, err := regular.ReadFile(file, maxSchema)
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, fmt.Errorf("schema %q: %w", file, err)
	}
	if !slices.Contains(drafts, schema.Schema) {
		return nil, fmt.Errorf("schema %q: $schema is %s; draft 2020-12 and draft-07 are read", file, schema.Schema)
	}
	if document, _ := parse(string(data)); fractional(document) {
		return nil, fmt.Errorf("schema %q: multipleOf takes whole numbers only: multiples of a fraction cannot be "+
			"computed exactly", file)
	}
	resolved, err := schema.Resolve(nil) // which loads nothing
	if err != nil {
		return nil, fmt.Errorf("schema %q: %w", file, err)
	}
	return resolved, nil
}

// fractional reports whether a schema has a multipleOf that is not a whole
// number: the library divides floats, and finds that 0.07 is not a multiple of
// 0.01.
func fractional(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		if n, is := v["multipleOf"].(float64); is && n != math.Trunc(n) {
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), fractional)
	case []any:
		return slices.ContainsFunc(v, fractional)
	}
	return false
}

func (r *jsonReward) value(row *score.Row) score.Value {
	ok, err := r.right(row)
	switch {
	case err != nil:
		return score.FieldFailed(err)
	case ok:
		return score.Value{Reward: 1}
	}
	return score.Value{}
}

func (r *jsonReward) right(row *score.Row) (bool, error) {
	var wanted any
	if r.wanted != nil {
		var err error
		if wanted, err = r.wanted(row); err != nil {
			return false, err
		}
	}
	answer, ok := parse(r.text(row.Answer))
	if !ok || r.schema != nil && r.schema.Validate(answer) != nil {
		return false, nil
	}
	if r.wanted == nil {
		return true, nil
	}
	got, ok := lookUp(answer, r.At)
	return ok && reflect.DeepEqual(got, wanted), nil
}

var fence = regexp.MustCompile("(?s)```[a-zA-Z]*[ \\t]*\\n(.*?)```")

func (r *jsonReward) text(answer string) string {
	if r.Mode != fenced {
		return answer
	}
	blocks := fence.FindAllStringSubmatch(answer, -1)
	if len(blocks) == 0 {
		return ""
	}
	return blocks[len(blocks)-1][1]
}

func parse(text string) (any, bool) {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	return v, err == nil
}

// lookUp follows a path of keys and list indexes separated by dots; without a
// path it returns the value itself.
func lookUp(v any, path *string) (any, bool) {
	if path == nil || *path == "" {
		return v, true
	}
	for name := range strings.SplitSeq(*path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}
