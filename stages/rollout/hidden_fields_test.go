package rollout

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
)

func TestHidden(t *testing.T) {
	row := `{"id":"a","q":"why","gold":"so","deep":{"gold":1,"kept":[2]},"a.b":3}`
	for _, c := range []struct {
		name                   string
		hide                   []string
		question               string
		wantQuestion, wantGold string
		want                   string
	}{
		{"nothing", nil, "why", "why", "so", row},
		{"the answer's column", []string{"gold"}, "why", "why", "", `{"id":"a","q":"why","deep":{"gold":1,"kept":[2]},"a.b":3}`},
		{"the question's column", []string{"q"}, "why", "", "so", `{"id":"a","gold":"so","deep":{"gold":1,"kept":[2]},"a.b":3}`},
		{"a path", []string{"deep.gold", "a.b"}, "why", "why", "so", `{"id":"a","q":"why","gold":"so","deep":{"kept":[2]}}`},
		{"what is not there", []string{"deep.none", "none.deep", "deep.gold.more"}, "why", "why", "so", row},
		{"in an unstructured question", []string{"gold"}, row, `{"id":"a","q":"why","deep":{"gold":1,"kept":[2]},"a.b":3}`, "",
			`{"id":"a","q":"why","deep":{"gold":1,"kept":[2]},"a.b":3}`},
	} {
		o := Options{Hide: c.hide, Columns: formats.FieldNames{Question: "q", Answer: "gold"}}
		e := formats.Example{ID: "a", Question: c.question, Answer: "so", Fields: []byte(row)}
		got := o.hidden(e)
		if string(got.Fields) != c.want || got.Question != c.wantQuestion || got.Answer != c.wantGold || got.ID != "a" {
			t.Errorf("%s: %+v with fields %s", c.name, got, got.Fields)
		}
		if string(e.Fields) != row {
			t.Errorf("%s: the example itself changed: %s", c.name, e.Fields)
		}
	}
}
