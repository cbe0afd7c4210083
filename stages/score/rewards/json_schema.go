package rewards

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rollmill/rollmill/storage/regular"
)

// drafts are the supported values of $schema; a schema without one is of the last.
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

// fractional reports whether a schema has a multipleOf that is not a whole number: the library
// divides floats, and finds that 0.07 is not a multiple of 0.01.
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
