package formats

import (
	"cmp"
	"encoding/json"
)

// AnswerOf returns the reference answer of an example, in the column that names
// gives: a string as text, any other value as JSON, and "" when it is missing.
func AnswerOf(example string, names FieldNames) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(example), &fields) != nil {
		return ""
	}
	answer := fields[cmp.Or(names.Answer, "answer")]
	var text string
	if len(answer) == 0 || json.Unmarshal(answer, &text) == nil {
		return text
	}
	return string(answer)
}
