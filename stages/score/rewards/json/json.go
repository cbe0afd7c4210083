// Package json rewards an answer that is the JSON it should be: 1 when it
// parses, fits the schema, if there is one, and holds the wanted value, if one
// is wanted; else 0.
//
//	json:whole                                  the answer is JSON
//	json:fenced,schema=move.schema.json         its last ``` block fits a schema
//	json:whole,at=city.name,field=capital       a value equals the example's field
//	json:whole,at=ok,text=true                  a value equals a literal
//
// A schema is complete in its file: what it refers to elsewhere is not
// fetched. Values are equal as JSON is, whatever the order of keys.
package json

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rollmill/rollmill/stages/score"
)

// Kind is the reward's entry in the registry.
var Kind = score.Kind{
	Name:  "json",
	Usage: "whole|fenced[,schema=FILE][,at=PATH,field=NAME|text=JSON]; the answer is JSON, fits the schema, and its value at PATH is the wanted one",
	New:   newReward,
}

type reward struct {
	fenced bool
	file   string
	schema *jsonschema.Schema // nil: any JSON
	at     string             // path in the answer
	field  string             // of the example, when wanted is not a literal
	wanted func(*score.Row) (any, error)
}

func newReward(s score.Setup) (score.Reward, error) {
	a, err := score.ParseArguments(s.Arguments, "schema", "at", "field", "text")
	if err != nil {
		return nil, err
	}
	r := &reward{fenced: a.Mode == "fenced", file: a.Value("schema", ""), at: a.Value("at", ""), field: a.Value("field", "")}
	switch {
	case a.Mode != "" && a.Mode != "whole" && a.Mode != "fenced":
		return nil, fmt.Errorf("%q is not one of whole, fenced", a.Mode)
	case a.Has("field") && a.Has("text"):
		return nil, fmt.Errorf("give field=NAME or text=JSON, not both")
	case a.Has("at") && !a.Has("field") && !a.Has("text"):
		return nil, fmt.Errorf("at=%s wants field=NAME or text=JSON to compare with", r.at)
	case a.Has("field"):
		r.wanted = func(row *score.Row) (any, error) { return row.Field(r.field) }
	case a.Has("text"):
		literal, ok := parse(a.Value("text", ""))
		if !ok {
			return nil, fmt.Errorf("text=%s is not JSON", a.Value("text", ""))
		}
		r.wanted = func(*score.Row) (any, error) { return literal, nil }
	}
	if r.file != "" {
		r.schema, err = compile(r.file)
	}
	return r, err
}

func compile(file string) (*jsonschema.Schema, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("schema %q: %w", file, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{}) // loads nothing
	if err := c.AddResource("schema.json", document); err != nil {
		return nil, fmt.Errorf("schema %q: %w", file, err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		return nil, fmt.Errorf("schema %q: %w", file, err)
	}
	return schema, nil
}

// Needs is the example when a field of it is compared with.
func (r *reward) Needs() score.Needs {
	if r.field != "" {
		return score.Head
	}
	return score.Light
}

func (r *reward) Close() error { return nil }

// Files is the schema.
func (r *reward) Files() []string {
	if r.file == "" {
		return nil
	}
	return []string{r.file}
}

func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, row := range rows {
		ok, err := r.right(row)
		switch {
		case err != nil:
			values[i] = score.FieldFailed(err)
		case ok:
			values[i] = score.Value{Reward: 1}
		default:
			values[i] = score.Value{}
		}
	}
	return ctx.Err()
}

func (r *reward) right(row *score.Row) (bool, error) {
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
	got, ok := lookUp(answer, r.at)
	return ok && reflect.DeepEqual(got, wanted), nil
}

var fence = regexp.MustCompile("(?s)```[a-zA-Z]*[ \\t]*\\n(.*?)```")

func (r *reward) text(answer string) string {
	if !r.fenced {
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

// lookUp follows a path of keys and list indexes with dots between.
func lookUp(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for name := range strings.SplitSeq(path, ".") {
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
