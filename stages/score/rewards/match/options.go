package match

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages/score"
)

type options struct {
	mode       string
	field      string  // of the example
	text       *string // a literal reference instead
	ignoreCase bool
	space      string
	tolerance  float64
	relative   bool // tolerance is a share of the reference
}

var modes = []string{"exact", "contains", "regexp", "number"}

func parse(arguments string) (options, error) {
	a, err := score.ParseArguments(arguments, "field", "case", "space", "tolerance", "text")
	o := options{mode: a.Mode, field: a.Value("field", "answer"), space: a.Value("space", "trim"), ignoreCase: a.Value("case", "keep") == "ignore"}
	if a.Has("text") {
		text := a.Value("text", "")
		o.text = &text
	}
	switch {
	case err != nil:
		return o, err
	case !slices.Contains(modes, o.mode):
		return o, fmt.Errorf("%q is not a way to match (there are %s)", o.mode, strings.Join(modes, ", "))
	case !slices.Contains([]string{"keep", "trim", "fold"}, o.space):
		return o, fmt.Errorf("space=%s is not one of keep, trim, fold", o.space)
	case !slices.Contains([]string{"keep", "ignore"}, a.Value("case", "keep")):
		return o, fmt.Errorf("case=%s is not one of keep, ignore", a.Value("case", ""))
	}
	return o, o.setTolerance(a.Value("tolerance", "1e-6"))
}

func (o *options) setTolerance(value string) error {
	number, percent := strings.CutSuffix(value, "%")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		return fmt.Errorf("tolerance %q is not a number such as 0.01 or 1%%", value)
	}
	if o.tolerance, o.relative = n, percent; percent {
		o.tolerance = n / 100
	}
	return nil
}

// fold applies the options for case and space.
func (o *options) fold(text string) string {
	switch o.space {
	case "trim":
		text = strings.TrimSpace(text)
	case "fold":
		text = strings.Join(strings.Fields(text), " ")
	}
	if o.ignoreCase {
		text = strings.ToLower(text)
	}
	return text
}

// references are the texts of which one has to match.
func (o *options) references(row *score.Row) ([]string, error) {
	if o.text != nil {
		return []string{*o.text}, nil
	}
	field, err := row.Field(o.field)
	if err != nil {
		return nil, err
	}
	list, ok := field.([]any)
	if !ok {
		list = []any{field}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the field %q is an empty list", o.field)
	}
	out := make([]string, len(list))
	for i, v := range list {
		if out[i], err = asText(v); err != nil {
			return nil, fmt.Errorf("the field %q: %w", o.field, err)
		}
	}
	return out, nil
}

func asText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case float64, bool:
		b, err := json.Marshal(v)
		return string(b), err
	case nil:
		return "", fmt.Errorf("it is null, which is no reference")
	default:
		return "", fmt.Errorf("an object or a list of lists is no reference")
	}
}
