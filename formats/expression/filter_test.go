package expression

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestFilter checks which rows are left out and why, and which filters need whole
// rows.
func TestFilter(t *testing.T) {
	half := 0.5
	row := formats.Trajectory{Status: outcomes.StatusOK, Reward: &half, SampledTokens: 7, Messages: make([]formats.Message, 3), Metadata: `{"kind":"sum"}`,
		Rewards: []formats.NamedReward{{Name: "n", Value: &half}, {Name: "none"}}}
	for _, c := range []struct {
		status, where string
		why           string
		payload       bool
	}{
		{"", "", "", false},
		{"ok", "", "", false},
		{"failed", "reward > 0", ByStatus, false},
		{"", "reward == 0.5 && sampled_tokens == 7", "", false},
		{"", `rewards["n"] == 0.5 && metadata.kind == "sum"`, "", false},
		{"", "advantage > 0 || advantage <= 0", ByWhere, false}, // there is none
		{"", "policy_version >= 0", ByWhere, false},
		{"", "rewards.none < 2", ByWhere, false}, // it has no value, which is not 0
		{"", "rewards.none > -1 || rewards?.none > -1 || rewards['other'] == 0", ByWhere, false},
		{"", "rewards.none != 0 && !('none' in rewards) && 'n' in rewards && all(['n'], rewards[#] == 0.5)", "", false},
		{"ok", "messages == 3", "", true},
		{"", "calls > 0", ByWhere, true},
	} {
		var statuses []string
		if c.status != "" {
			statuses = []string{c.status}
		}
		f, err := NewFilter(statuses, c.where)
		if err != nil {
			t.Fatal(err)
		}
		why, err := f.Refuses(t.Context(), &row)
		if err != nil || why != c.why || f.Payload() != c.payload || f.Active() != (c.status+c.where != "") {
			t.Errorf("%+v: %q, %v, payload %v", c, why, err, f.Payload())
		}
	}
	for _, c := range []struct{ status, where string }{{"done", ""}, {"ok", "reward >"}, {"ok", "rewrad > 1"}, {"ok", "reward"}} {
		_, err := NewFilter([]string{c.status}, c.where)
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
