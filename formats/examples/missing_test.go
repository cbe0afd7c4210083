package examples

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage/fault"
)

// What was asked for and is nowhere is an error, with what there is.
func TestAColumnThatNoRowHasIsRefused(t *testing.T) {
	text := "{\"id\":\"a\",\"question\":\"q\",\"answer\":null}\n{\"id\":\"b\",\"question\":\"r\"}\n"
	filter := map[string][]string{"topik": {"x"}}
	for want, o := range map[string]Options{
		`no question column "quesion"`:              {Names: formats.FieldNames{Question: "quesion"}},
		`no answer column "anser"`:                  {Names: formats.FieldNames{Answer: "anser"}},
		`no generated-answer column "said"`:         {Names: formats.FieldNames{GeneratedAnswer: "said"}},
		`no id column "di"`:                         {Names: formats.FieldNames{ID: "di"}},
		`no id column "ID"`:                         {Names: formats.FieldNames{ID: "ID"}, Unstructured: true},
		`allow filter names column "topik", which `: {Allow: filter},
		`deny filter names column "topik", which `:  {Deny: filter},
	} {
		_, _, err := read(t, "x.jsonl", text, o)
		invalid := (*fault.Error)(nil)
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || !strings.Contains(fault.HintOf(invalid), `"id", "question", "answer"`) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	if _, _, err := read(t, "x.jsonl", "\n", Options{Names: formats.FieldNames{ID: "di"}}); err != nil {
		t.Errorf("a file without rows has no columns to miss: %v", err)
	}
}

func TestRowsWithoutAQuestionAreCounted(t *testing.T) {
	_, r := mustRead(t, "x.jsonl", "{\"id\":1,\"question\":\"q\"}\n\n{\"id\":2,\"promt\":\"q\"}\n{\"id\":3,\"question\":\" \"}\n", Options{})
	warned(t, r, `2 of 3 examples have no question (column question; the first is in line 3)`)
	if r.Blank != 2 {
		t.Errorf("%d are counted", r.Blank)
	}
	_, r = mustRead(t, "x.csv", "id,promt,gold\n1,q,4\n2,q,5\n", Options{Names: formats.FieldNames{Answer: "gold"}})
	warned(t, r, `2 of 2 examples have no question (column question; the first is in line 2); the columns are "id", "promt", "gold": name `+
		`the one that holds it with --question-key`)
	_, r = mustRead(t, "x.jsonl", "{\"id\":1,\"question\":\"q\",\"gold\":\"4\"}\n{\"id\":2,\"question\":\"q\",\"gold\":null}\n",
		Options{Names: formats.FieldNames{Answer: "gold"}})
	warned(t, r, `column "gold" is filled in 1 of 2 rows`)
	for _, o := range []Options{{NoQuestions: true}, {Unstructured: true}} {
		_, r = mustRead(t, "x.jsonl", `{"id":1,"board":[]}`, o)
		warned(t, r)
	}
}

func TestNumbersThatJSONLacksAreRefused(t *testing.T) {
	for _, value := range []string{"NaN", "-Infinity", `{"a":[Infinity]}`} {
		for name, text := range map[string]string{
			"x.jsonl": "{\"id\":1,\"question\":\"q\"}\n\n{\"id\":2,\"question\":\"q\",\"x\":" + value + "}\n",
			"x.json":  "[{\"id\":1,\"question\":\"q\"},\n\n{\"id\":2,\"question\":\"q\",\"x\":" + value + "}]",
		} {
			_, _, err := read(t, name, text, Options{})
			invalid := (*fault.Error)(nil)
			if !errors.As(err, &invalid) || invalid.Row != 1 || !strings.Contains(err.Error(), "it holds NaN or an infinity") ||
				name == "x.jsonl" && !strings.Contains(err.Error(), "line 3: ") {
				t.Errorf("%s with %s: %v", name, value, err)
			}
		}
	}
}

func TestAKeyThatComesTwiceIsRefused(t *testing.T) {
	for row, key := range map[string]string{`{"id":2,"question":"q","answer":"3","answer":"4"}`: ": answer", `{"id":2,"x":{"a":1,"a":1}}`: ": x.a"} {
		_, _, err := read(t, "x.jsonl", "{\"id\":1,\"question\":\"q\"}\n\n"+row, Options{})
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "twice: line 3"+key) {
			t.Errorf("%s: %v", row, err)
		}
	}
}

// Of two rows with one id, equal ones are one task, and different ones an error.
func TestTwoTasksWithOneIDAreRefused(t *testing.T) {
	first := "{\"id\":\"a\",\"question\":\"q\"}\n"
	for _, second := range []string{`{"id":"a","question":"r"}`, `{"id":" a","question":"r"}`, `{"id":"a","question":"q","answer":"4"}`} {
		_, _, err := read(t, "x.jsonl", first+"\n"+second, Options{})
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `line 1 and line 3 have the id "a" and are different tasks`) {
			t.Errorf("%s: %v", second, err)
		}
	}
	rows, r := mustRead(t, "x.jsonl", first+`{"question":"q", "id":"a"}`, Options{})
	if len(rows) != 1 || r.Counts[DropDuplicate] != 1 {
		t.Errorf("%d rows, %v", len(rows), r.Counts)
	}
}
