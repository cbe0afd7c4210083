package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// TestFirst compares the first rows of a dataset of several parts with the pages of its list.
func TestFirst(t *testing.T) {
	e := &epoch{root: "mem://query-first/epoch-3"}
	e.write(t, randomtest.Options{Groups: firstPart/8 + 300, Messages: 1, SampledTokens: 1, PromptTokens: 1, NoTokens: true, Failures: 0.3, Epoch: 3})
	x := built(t, t.Context(), e.root+"/group")
	for _, q := range []Query{{}, {Where: "reward > 0.99"}, {Order: OrderOf("-reward")}, {Order: OrderOf("trajectory_id"), Where: "generation == 3"},
		{Order: OrderOf("reward - generation")}, {Order: Order{"generation - reward", true}, Choices: map[string]string{"status": outcomes.StatusFailed}},
		{Order: OrderOf("-example_id")}, {Order: OrderOf("len(answer)"), Where: "reward > 0.9"}, {Where: "reward > 2"}, {Order: OrderOf("row")}} {
		p, err := x.Trajectories().Page(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := First(t.Context(), x.From.Rows, q, 0, PageSize)
		if err != nil || !slices.EqualFunc(got, p.Items, func(a int64, b uint32) bool { return a == int64(b) }) {
			t.Errorf("%+v: %v, %v, not %v", q, err, got, p.Items)
		}
		last := int64(x.Rows) - 50
		if got, err = First(t.Context(), x.From.Rows, q, last, 3); err != nil || len(got) > 3 || len(got) > 0 && slices.Min(got) < last {
			t.Errorf("%+v from row %d: %v, %v", q, last, got, err)
		}
	}
	if _, err := First(t.Context(), x.From.Rows, Query{Where: "metadata.trns != 3"}, 0, 1<<20); err == nil ||
		!strings.HasSuffix(err.Error(), "no row has a value of metadata.trns") {
		t.Errorf("a name that no part has: %v", err)
	}
	for _, q := range []Query{{Order: OrderOf("metadata.trns")}, {Order: OrderOf("metadata.trns"), Where: "generation == 3"}} {
		if _, err := First(t.Context(), x.From.Rows, q, 0, 3); err == nil || !strings.HasSuffix(err.Error(), "no row has a value of metadata.trns") {
			t.Errorf("an order by a name that no part has: %v", err)
		}
	}
	if got, err := First(t.Context(), x.From.Rows, Query{Order: OrderOf("metadata.trns ?? 0")}, 0, 3); err != nil || len(got) != 3 {
		t.Errorf("an order by a name with a default: %v, %v", got, err)
	}
}
