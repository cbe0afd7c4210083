package customizer_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
)

// DPO trains on the batch's pairs, all of an example's on one side; without a
// table the note says what is compared.
func TestPairsOfTheBatch(t *testing.T) {
	tr, s := start(t, customizertest.Faults{})
	none, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
	if err != nil || !strings.HasSuffix(none.Notes[0], "; there are no _pairs, so each group's best is compared with its worst") || none.Sequences != 3 {
		t.Errorf("%+v, %v", none, err)
	}
	tr.Use(backendtest.Tables(), nil)
	stats, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
	if err != nil || strings.Contains(stats.Notes[0], "_pairs") || stats.Sequences != 9 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := submit(t, tr); err != nil {
		t.Fatal(err)
	}
	files := s.Jobs()[0].Files
	train, held := strings.Split(strings.TrimSpace(files["training/training_file.jsonl"]),
		"\n"), strings.Split(strings.TrimSpace(files["validation/validation_file.jsonl"]), "\n")
	if len(train) != 6 || len(held) != 3 {
		t.Fatalf("%d and %d lines", len(train), len(held))
	}
	for i, want := range []string{`"chosen_response":"answer 3","rejected_response":"answer 0"}`,
		`"chosen_response":"answer 3","rejected_response":"answer 1"}`, `"chosen_response":"answer 2","rejected_response":"answer 0"}`} {
		if !strings.HasSuffix(train[i], want) || !strings.HasSuffix(held[i], want) {
			t.Errorf("%s, %s", train[i], held[i])
		}
	}
	if sfts, _ := start(t, customizertest.Faults{}, sft); sfts.Describe().Compares != nil {
		t.Error("conversations are not made of pairs")
	}
}

// Of each group the best conversations, as many as are asked for.
func TestTheBestConversations(t *testing.T) {
	tr, s := start(t, customizertest.Faults{}, sft, func(c *customizer.Config) { c.Best = 2 })
	if _, err := submit(t, tr); err != nil {
		t.Fatal(err)
	}
	files := s.Jobs()[0].Files
	all := files["training/training_file.jsonl"] + files["validation/validation_file.jsonl"]
	if strings.Count(all, "\n") != 6 || strings.Count(all, `"answer 3"`) != 3 || strings.Count(all, `"answer 2"`) != 3 {
		t.Error(all)
	}
}
