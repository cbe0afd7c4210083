package formats

import "encoding/json"

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
