package expression

import (
	"slices"
	"strings"
	"testing"
)

// TestAbsent: a name that no input had is told, unless the expression says what it is worth, or did not come to it.
func TestAbsent(t *testing.T) {
	rows := []Row{{Metadata: map[string]any{"kind": "sum", "none": nil}, Rewards: map[string]float64{"n": 1}}, {Rewards: map[string]float64{"m": 1}}, {}}
	for text, want := range map[string][]string{
		`metadata.kind == "sum"`:                                   nil,
		`metadata.none == nil`:                                     nil, // it is there
		`metadata.knd == "sum"`:                                    {"metadata.knd"},
		`metadata["a b"] != 1 && rewards.x != 1`:                   {`metadata["a b"]`, "rewards.x"},
		`rewards.n > 2 || rewards["m"] > 2 || rewards?.o > 2`:      {"rewards?.o"},
		`(metadata.knd ?? "") == ""`:                               nil,
		`"x" in metadata && metadata.x == 1`:                       nil, // no row comes to it
		`metadata.knd?.deep == 1 || (metadata.kind ?? {}) == {}`:   {"metadata.knd"},
		`(rewards.zz ?? 2) == 2 && (metadata.zz ?? "x") == "x"`:    nil,
		`any(["n", "q"], rewards[#] > 0) && epoch == 0`:            nil,
		`len(filter([1, 2], # > metadata.low ?? 0)) == 0`:          nil,
		`all([1, 2], metadata.low != #) && rewards.n != rewards.z`: {"metadata.low", "rewards.z"},
	} {
		p, err := Condition(text, Row{})
		if err != nil {
			t.Fatal(text, err)
		}
		for _, r := range rows {
			if is, err := p.Run(t.Context(), r); err != nil || strings.Contains(text, "zz") && is != true {
				t.Errorf("%s: %v, %v", text, is, err)
			}
		}
		if got := p.Absent(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
