package query

import (
	"testing"

	"github.com/rollmill/rollmill/formats/randomtest"
)

// TestAdjacent walks through lists by their neighbours, which must be those of the
// pages.
func TestAdjacent(t *testing.T) {
	e := epoch{root: t.TempDir()}
	e.write(t, randomtest.Options{Groups: 30, Generations: 5, Scored: true, Failures: 0.2, Unscored: 0.1, SampledTokens: 60, PromptTokens: 40})
	x := built(t, t.Context(), e.root+"/rollout")
	for _, q := range []Query{{}, {Order: Order{By: "reward", Descending: true}}, {Where: "reward > 0.3", Order: Order{By: "sampled_tokens"}},
		{Choices: map[string]string{"drop": Kept}}} {
		var rows []uint32
		for q.Page = 1; ; q.Page++ {
			page, err := x.Trajectories().Page(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if rows = append(rows, page.Items...); q.Page == page.Pages {
				break
			}
		}
		listed := map[uint32]bool{}
		for i, row := range rows {
			listed[row] = true
			wantBefore, wantAfter := int64(None), int64(None)
			if i > 0 {
				wantBefore = int64(rows[i-1])
			}
			if i+1 < len(rows) {
				wantAfter = int64(rows[i+1])
			}
			if before, after, err := x.Trajectories().Adjacent(t.Context(), q, row); err != nil || before != wantBefore || after != wantAfter {
				t.Fatalf("%+v: beside row %d are %d and %d, %v", q, row, before, after, err)
			}
		}
		for row := range x.Rows {
			if before, after, err := x.Trajectories().Adjacent(t.Context(), q, row); !listed[row] && (err != nil || before != None || after != None) {
				t.Fatalf("%+v: row %d is not listed, and has neighbours %d and %d, %v", q, row, before, after, err)
			}
		}
	}
	q := Query{Order: Order{By: "mean"}, Where: "valid > 1"}
	page, err := x.GroupList().Page(t.Context(), q)
	if err != nil || len(page.Items) < 3 {
		t.Fatal(page, err)
	}
	if before, after, err := x.GroupList().Adjacent(t.Context(), q, page.Items[1]); err != nil || before != int64(page.Items[0]) || after != int64(page.Items[2]) {
		t.Errorf("%d and %d, %v", before, after, err)
	}
}
