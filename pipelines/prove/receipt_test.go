package prove

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/submit"
)

// TestEachNumberOfAReceipt: a receipt in which any number is another than in its ledger
// differs there.
func TestEachNumberOfAReceipt(t *testing.T) {
	whole := receipts.Receipt{
		State: "completed", Job: "job", CuratedDigest: "digest", Epoch: 1, Trajectories: 2, Groups: 3, Tokens: 4,
		StepBefore: new(int64(5)), StepAfter: new(int64(6)), Policy: &receipts.Policy{Model: "m", Version: 7},
		Metrics:     map[string]float64{"loss": 8.5, "sequences.parquet": 9},
		MetricSteps: []json.RawMessage{json.RawMessage(`{"loss":10}`), json.RawMessage(`{"loss":11,"more":[12]}`)},
		Sequences: map[string]receipts.Balance{"sequences.parquet": {Trajectories: 13, Sequences: 14, Tokens: 15, In: 16, Lost: 17,
			Alternatives: 18, Shared: 19}},
		Redacted: map[string]int64{"mail": 20}, StartedAt: time.Unix(21, 0).UTC(),
	}
	record := &submit.Listed{State: whole.State, Job: whole.Job, Digest: whole.CuratedDigest, Receipt: &whole}
	if d := recorded(&whole, record); d != nil {
		t.Errorf("%+v", d)
	}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 20; n++ {
		was := fmt.Sprint(":", n)
		if n == 12 {
			was = "[12"
		}
		changed := strings.Replace(string(text), was, was[:1]+"9"+was[1:], 1)
		var r receipts.Receipt
		if err := json.Unmarshal([]byte(changed), &r); err != nil || changed == string(text) {
			t.Fatalf("%s: %v", was, err)
		}
		if d := recorded(&r, record); d == nil || d.Column == "" {
			t.Errorf("%s: %s: %+v", was, changed, d)
		}
	}
}
