package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/zeebo/xxh3"
)

// Example is a row of the task dataset. Fields keeps the original row, a JSON
// object with its keys in order; the other fields are those that the mapping
// selects from it.
type Example struct {
	ID       string          `json:"id"`       // as a string; a row without one gets its row number, "row-<n>"
	Question string          `json:"question"` // "" when there is no such field
	Answer   string          `json:"answer"`   // the reference answer; "" when there is none
	Fields   json.RawMessage `json:"fields"`
	Row      int             `json:"row"` // from 0, in the file

	GeneratedAnswer string `json:"generated_answer,omitempty"` // an output stored by an earlier run; "" when there is none
}

// FieldNames maps the task file's columns (the names are those of the harness's datasets).
type FieldNames struct {
	ID              string `json:"id,omitempty"`               // default "id"
	Question        string `json:"question,omitempty"`         // default "question"
	Answer          string `json:"answer,omitempty"`           // default "answer"
	GeneratedAnswer string `json:"generated_answer,omitempty"` // default "generated_answer"
}

// Numbered reports whether an example's id is only its row number, which
// identifies nothing in another file.
func Numbered(id string) bool { return strings.HasPrefix(id, "row-") }

// ExampleContent returns a digest of an example's content: two rows of a task
// have the same content when they differ only in the order of keys and in a
// field "id". It returns false for an example without content.
func ExampleContent(example string) (xxh3.Uint128, bool) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(example)))
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return xxh3.HashString128(example), example != ""
	}
	delete(fields, "id")
	canonical, err := json.Marshal(fields)
	return xxh3.Hash128(canonical), err == nil && len(fields) > 0
}

// AnswerOf returns the reference answer of an example, in the column that names
// gives: a string as text, any other value as JSON, and "" when it is missing.
func AnswerOf(example string, names FieldNames) string {
	return fieldOf(example, cmp.Or(names.Answer, "answer"))
}

// QuestionOf returns the question of an example likewise.
func QuestionOf(example string, names FieldNames) string {
	return fieldOf(example, cmp.Or(names.Question, "question"))
}

func fieldOf(example, name string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(example), &fields) != nil {
		return ""
	}
	var text string
	if len(fields[name]) == 0 || json.Unmarshal(fields[name], &text) == nil {
		return text
	}
	return string(fields[name])
}
