package serve

import (
	"encoding/json"
	"net/http"

	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// firstBytes is how much of a question and of an answer a list shows.
const firstBytes = 120

// firsts are the beginnings of the texts of a row.
type firsts struct{ question, answer string }

// firstTexts returns the beginnings of the texts of rows. They are not in the index: the
// page comes without them, and its script asks for it again with them.
func (m *listModel) firstTexts(r *http.Request, x *query.Index, rows []uint32) (map[uint32]firsts, error) {
	if r.FormValue("texts") == "" {
		m.TextsURL = listed(r, m.path, "texts", "1")
		return nil, nil
	}
	out := map[uint32]firsts{}
	return out, x.Texts(r.Context(), rows, func(row uint32, example, answer string) {
		out[row] = firsts{text.FirstWords(questionOf(example, x.From.Rows.Columns.Question), firstBytes), text.FirstWords(answer, firstBytes)}
	})
}

// questionKeys are the fields of an example that hold its question, by preference.
var questionKeys = []string{"question", "prompt", "problem", "instruction", "input", "query", "task"}

// questionOf returns the question of an example, in a column if that is named, else the
// example itself.
func questionOf(example, column string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(example), &fields) == nil {
		for _, key := range append([]string{column}, questionKeys...) {
			if text, is := fields[key].(string); is {
				return text
			}
		}
	}
	return example
}
