package formats

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/zeebo/xxh3"
)

// Example is a row of the task dataset. Fields keeps the row as it came, a
// JSON object with its keys in order; the rest are the fields that the
// mapping picked out of it.
type Example struct {
	ID       string          `json:"id"`       // as a string; a row without one gets its row number, "row-<n>"
	Question string          `json:"question"` // "" when there is no such field
	Answer   string          `json:"answer"`   // the reference; "" when there is none
	Fields   json.RawMessage `json:"fields"`
	Row      int             `json:"row"` // from 0, in the file

	GeneratedAnswer string `json:"generated_answer,omitempty"` // an output stored by an earlier run; "" when there is none
}

// FieldNames maps the task file's columns (names as in the harness's datasets).
type FieldNames struct {
	ID              string // default "id"
	Question        string // default "question"
	Answer          string // default "answer"
	GeneratedAnswer string // default "generated_answer"
}

// Numbered tells whether an example's id is only its row number, which names
// nothing in another file.
func Numbered(id string) bool { return strings.HasPrefix(id, "row-") }

// ExampleContent is a digest of what an example says: two rows of a task say
// the same when they are the same but for the order of keys and a field "id".
// It is false for one that says nothing.
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
