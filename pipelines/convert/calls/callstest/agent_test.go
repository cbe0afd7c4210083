package callstest

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAgents holds random attempts to what they are for: each way of an agent occurs, the structure that
// Expect finds agrees with walking its calls alone, and taking a row apart gives it again.
func TestAgents(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := Attempts(r, Shape{Examples: 2, Attempts: 3, Calls: 12, Words: 2 + r.IntN(30)}, true)
		by := map[string]*Recorded{}
		var log []*Logged
		for _, x := range all {
			by[x.Attempt] = x
			log = append(log, x.Calls...)
			for _, m := range x.Row.Messages {
				seen[m.Branch]++
				seen["break "+m.PrefixBreak]++
			}
			for _, c := range x.Row.Candidates {
				seen[c.Reason]++
			}
			if _, err := Explode(x.Attempt, &x.Row, 0); err != nil {
				seen["not explained"]++
			}
		}
		for _, e := range Expect(all, log, false) {
			switch {
			case e.Ambiguous:
				seen["ambiguous"]++
			case e.Gap:
				seen["gap"]++
			case e.Unsure:
				seen["unsure"]++
			case e.Calls[0].parent == nil:
				seen["whole"]++
				got, want := e.Row(true), by[e.Calls[0].Attempt].Cut(e.Calls)
				if d := Difference(&got, &want); strings.Contains(d, "arguments is") { // a call's text, of an answer in another conversation
					seen["restored"]++
				} else if d != "" {
					t.Fatalf("seed %d: %s\nwalked:\n%scut:\n%s", seed, d, Outline(&got), Outline(&want))
				}
			default:
				seen["cut"]++
			}
		}
	}
	if seen["not explained"] > 80*6/25 { // it would have to try the orders of calls at once, which the row does not say
		t.Errorf("%d attempts are not explained", seen["not explained"])
	}
	for _, what := range []string{"choice", "retry", "parallel", "history", "compaction", "subagent", "break reasoning", "break template",
		"alternative", "retried", "ambiguous", "gap", "whole", "cut"} {
		if seen[what] == 0 {
			t.Errorf("no %s: %v", what, seen)
		}
	}
	t.Log(seen)
}
