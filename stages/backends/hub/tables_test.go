package hub_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/hub"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

// What compares is made of the batch's tables, and the record says so, with
// the weights that balance the labels of each side.
func TestTablesOfTheBatch(t *testing.T) {
	tr, s := start(t, hubtest.Faults{}, tables("trl-preference", "trl-kto"), func(c *hub.Config) { c.Validation, c.SplitSeed = 0.4, 1 })
	if got := fmt.Sprint(tr.Describe().Compares); got != "[_pairs _labels]" {
		t.Error(got)
	}
	tr.Use(backendtest.Tables(), nil)
	must(t, tr, "token-1")
	record := s.Files(id)[".rollmill/token-1.json"]
	for _, part := range []string{
		`"trl-preference": "_pairs"`, `"trl-kto": "_labels"`,
		`"trl-kto/train": { "desirable": 2, "undesirable": 6, "desirable_weight": 3, "undesirable_weight": 1 }`,
		`"trl-kto/validation": { "desirable": 1, "undesirable": 3, "desirable_weight": 3, "undesirable_weight": 1 }`,
	} {
		if !strings.Contains(strings.Join(strings.Fields(record), " "), part) {
			t.Errorf("%s lacks %s", record, part)
		}
	}
	var got []string
	for _, side := range []string{"train", "validation"} {
		for _, p := range read[preference](t, s.Files(id)["data/trl-preference/"+side+"-00000-of-00001.parquet"]) {
			got = append(got, fmt.Sprintf("%s: %s > %s by %.2g", side, content(p.Chosen[0]), content(p.Rejected[0]), p.Margin))
		}
	}
	if len(got) != 9 || got[0] != "train: answer 3 > answer 0 by 1" || got[1] != "train: answer 3 > answer 1 by 0.67" ||
		got[2] != "train: answer 2 > answer 0 by 0.67" {
		t.Errorf("%q", got)
	}
	if plain, _ := start(t, hubtest.Faults{}); plain.Describe().Compares != nil {
		t.Error("rows are not made of pairs")
	}
}

// TestLabelsOfOneKindAreRefused: KTO learns nothing from good answers alone.
func TestLabelsOfOneKindAreRefused(t *testing.T) {
	for _, both := range []bool{true, false} {
		tr, _ := start(t, hubtest.Faults{}, tables("trl-kto"))
		var labels []formats.Label
		for l := range backendtest.Tables().Labels {
			if l.Desirable || both {
				labels = append(labels, l)
			}
		}
		tr.Use(backendtest.TablesOf(nil, labels), nil)
		var problems []string
		_, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { problems = append(problems, p.Reason+" "+p.Detail) })
		if err != nil || both != (problems == nil) ||
			!both && (len(problems) != 1 || problems[0] != "no_row trl-kto: KTO needs good and bad answers, and these are 3 good and 0 bad") {
			t.Errorf("%v: %q, %v", both, problems, err)
		}
	}
}

// preference has the columns of a pair that the tests read.
type preference struct {
	Chosen   []string `parquet:"chosen,list" parquet-element:",json"`
	Rejected []string `parquet:"rejected,list" parquet-element:",json"`
	Margin   float64  `parquet:"margin"`
}

type conversation struct {
	Messages []string `parquet:"messages,list" parquet-element:",json"`
}

// content returns the content of a message as tables hold it.
func content(message string) string {
	return chat.ReadMessage([]byte(message), jsontext.AnyText).Content
}

func read[T any](t *testing.T, data string) []T {
	t.Helper()
	f, err := parquet.Open(bytes.NewReader([]byte(data)), int64(len(data)), "file")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parquet.NewReader[T](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]T, f.Rows())
	if n, err := r.Read(rows); n != len(rows) {
		t.Fatal(n, err)
	}
	return rows
}

// Of each group the best conversations, as many as are asked for.
func TestTheBestConversations(t *testing.T) {
	tr, s := start(t, hubtest.Faults{}, tables("trl-sft"), func(c *hub.Config) { c.Best = -1 })
	must(t, tr, "token-1")
	rows := read[conversation](t, s.Files(id)["data/trl-sft/train-00000-of-00001.parquet"])
	if len(rows) != 12 || content(rows[0].Messages[1]) != "answer 3" || content(rows[3].Messages[1]) != "answer 0" {
		t.Errorf("%d rows, %+v", len(rows), rows)
	}
}
