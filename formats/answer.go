package formats

import "encoding/json"

// AnswerOf returns the reference answer of an example, its field "answer": a
// string as text, any other value as JSON, and "" when the field is missing.
func AnswerOf(example string) string {
	var fields struct {
		Answer json.RawMessage `json:"answer"`
	}
	if json.Unmarshal([]byte(example), &fields) != nil || len(fields.Answer) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(fields.Answer, &text) == nil {
		return text
	}
	return string(fields.Answer)
}
