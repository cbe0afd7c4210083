package formats

import "encoding/json"

// AnswerOf is the reference answer of an example as it came: its field
// "answer", text as it is and anything else as JSON; "" when there is none.
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
