package estimatortest

import (
	"math"
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/group"
)

func (s suite) finite(t *rapid.T) {
	r := rewards().Draw(t, "group")
	lengths := Lengths(len(r)).Draw(t, "lengths")
	alone := map[string]int{}
	for _, l := range lengths {
		alone[l.Part]++
	}
	parts := s.estimator.Parts != nil
	a := s.credits(t, Members(r), lengths)
	if a == nil && len(r) > 1 && !parts {
		t.Fatalf("%v has no advantages", r)
	}
	for i := range a {
		for k, x := range a[i] {
			if math.IsInf(x, 0) || math.IsNaN(x) && (k > 0 || !parts || alone[lengths[i].Part] > 1) {
				t.Fatalf("the advantages of %v in %v are %v", r[i], r, a[i])
			}
		}
	}
}

func (s suite) order(t *rapid.T) {
	r := rewards().Draw(t, "group")
	perm := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)).Perm(len(r))
	lengths := Lengths(len(r)).Draw(t, "lengths")
	moved, movedLengths := make([]float64, len(r)), make([]group.Length, len(r))
	for i, p := range perm {
		moved[p], movedLengths[p] = r[i], lengths[i]
	}
	a, b := s.credits(t, Members(r), lengths), s.credits(t, Members(moved), movedLengths)
	if (a == nil) != (b == nil) {
		t.Fatalf("%v has advantages %v; permuted: %v", r, a, b)
	}
	for i := range a {
		if !equal(a[i], b[perm[i]]) {
			t.Fatalf("reward %v has %v in %v and %v in %v", r[i], a[i], r, b[perm[i]], moved)
		}
	}
}

// failures puts failed and unscored members, with any reward, among the valid ones.
func (s suite) failures(t *rapid.T) {
	r := rewards().Draw(t, "group")
	lengths := Lengths(len(r)).Draw(t, "lengths")
	want := s.credits(t, Members(r), lengths)
	lie := 1e6
	bad := []formats.Member{
		{Status: outcomes.StatusFailed}, {Status: outcomes.StatusFailed, Reward: &lie},
		{Status: outcomes.StatusSkipped, Reward: &lie}, {Status: outcomes.StatusOK}, {Status: outcomes.StatusTruncated},
	}
	var members []formats.Member
	var all []group.Length
	var place []int
	for i, m := range Members(r) {
		for rapid.Bool().Draw(t, "fails") && len(members) < 40 {
			members = append(members, rapid.SampledFrom(bad).Draw(t, "bad"))
			all = append(all, group.Length{SampledTokens: 1000, Part: "a", Steps: []group.Step{{NoState: "it failed"}}})
		}
		place = append(place, len(members))
		members, all = append(members, m), append(all, lengths[i])
	}
	got := s.credits(t, members, all)
	if (got == nil) != (want == nil) {
		t.Fatalf("%v has advantages %v; with failures: %v", r, want, got)
	}
	for i, p := range place {
		if got != nil && !equal(got[p], want[i]) {
			t.Fatalf("a failure moved the advantages of %v in %v from %v to %v", r[i], r, want[i], got[p])
		}
		members[p].Advantage = nil
	}
	for i, m := range members {
		if m.Advantage != nil {
			t.Fatalf("member %d of status %q has an advantage", i, m.Status)
		}
	}
}
