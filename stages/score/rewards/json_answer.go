package rewards

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rollmill/rollmill/stages/score"
)

type jsonReward struct {
	fenced bool
	at     *string
	schema *jsonschema.Resolved // nil: any JSON
	wanted func(*score.Row) (any, error)
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
	got, ok := lookUp(answer, r.at)
	return ok && reflect.DeepEqual(got, wanted), nil
}

var fence = regexp.MustCompile("(?s)```[a-zA-Z]*[ \\t]*\\n(.*?)```")

func (r *jsonReward) text(answer string) string {
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
