package rules_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

var sides = rules.Sides{{Name: "train", Share: 0.7}, {Name: "validation", Share: 0.2}, {Name: "test", Share: 0.1}}

func TestSplit(t *testing.T) {
	ruletest.Run(t, rules.Split, &rules.SplitSettings{Sides: sides, Take: "train"}, curate.CompatNone)
}

// TestEveryExampleIsOnOneSide, in every epoch and among any others.
func TestEveryExampleIsOnOneSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64().Draw(t, "seed")
		on := map[string]string{}
		for epoch := range 3 {
			groups := make([]curate.Group, rapid.IntRange(1, 40).Draw(t, "groups"))
			for i := range groups {
				e := fmt.Sprint("e", rapid.IntRange(0, 50).Draw(t, "example"))
				groups[i] = curate.Group{ID: fmt.Sprint(e, "@", epoch), ExampleID: e, Epoch: epoch}
			}
			sidesOf := make([]int, len(groups))
			for _, side := range sides {
				rule, err := (&rules.SplitSettings{Sides: sides, Take: side.Name}).Rule(curate.Setup{})
				if err != nil {
					t.Fatal(err)
				}
				r, err := curate.Apply(rule, curate.Batch{Epoch: epoch, Seed: seed}, groups)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range r.Verdicts {
					if v.Reason != "" {
						continue
					}
					sidesOf[i]++
					if was := on[groups[i].ExampleID]; was != "" && was != side.Name {
						t.Fatalf("%s is in %s and in %s", groups[i].ExampleID, was, side.Name)
					}
					on[groups[i].ExampleID] = side.Name
				}
			}
			for i, n := range sidesOf {
				if n != 1 {
					t.Fatalf("%s is on %d sides", groups[i].ExampleID, n)
				}
			}
		}
	})
}

// TestShares: about so many examples are on each side.
func TestSplitShares(t *testing.T) {
	groups := make([]curate.Group, 20000)
	for i := range groups {
		groups[i] = curate.Group{ID: fmt.Sprint(i, "@0"), ExampleID: fmt.Sprint(i)}
	}
	for _, side := range sides {
		rule, _ := (&rules.SplitSettings{Sides: sides, Take: side.Name}).Rule(curate.Setup{})
		r, err := curate.Apply(rule, curate.Batch{Seed: 11}, groups)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0.0
		for _, v := range r.Verdicts {
			if v.Reason == "" {
				kept++
			}
		}
		if d := kept - side.Share*20000; d < -300 || d > 300 {
			t.Errorf("%s has %v of 20000 examples", side.Name, kept)
		}
	}
}
