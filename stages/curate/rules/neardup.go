package rules

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonNearDuplicate = "near_duplicate" // another member of its group has nearly the same content

// NearDuplicate refuses members with nearly the same content as another of their group. It
// compares what the policy sampled: text, reasoning and tool calls, in lower case, with runs of
// blanks as one, cut into overlapping runs of five characters (shingles). The similarity of two
// is the number of shingles that both have, divided by the number that either has (Jaccard's
// index; Broder, "On the resemblance and containment of documents", 1997). Members are processed
// in the order of their generation, and one is kept if its similarity to every kept one is below
// the threshold.
//
// Each member is represented by its 1024 lowest shingle hashes (a bottom-k sketch): up to that
// many shingles the similarity is exact, above them an estimate with a standard error of at most
// 1/64. Memory is 8 KiB per member of one group.
var NearDuplicate = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "near_duplicate",
		Help: "drop members that are nearly the same as an earlier one of their group",
		New:  func() curate.RuleSettings { return &NearDuplicateSettings{} }},
	Reasons: []string{reasonNearDuplicate},
}

// NearDuplicateSettings are the rule's settings.
type NearDuplicateSettings struct {
	Similarity *float64 // from which a member is dropped, in (0, 1]; nil: the rule does not run
}

// Declare declares the settings.
func (s *NearDuplicateSettings) Declare(d *plugin.Declarer) {
	d.OptionalFloat(&s.Similarity, "drop-near-duplicates",
		"drop members at least this `SIMILARITY` to an earlier one of their group; 1 ignores only case and blanks").
		ID("drop-near-duplicates")
}

// Rule makes the rule.
func (s *NearDuplicateSettings) Rule(curate.Setup) (curate.Rule, error) {
	switch x := s.Similarity; {
	case x == nil:
		return curate.Rule{}, nil
	case !(*x > 0 && *x <= 1):
		return curate.Rule{}, curate.Usage("1 means equal apart from case and blanks, 0.9 nearly equal",
			"curate: --drop-near-duplicates %v is not above 0 and up to 1", *x)
	default:
		return curate.Rule{Rows: nearDuplicateRule{likeness: *x}.rows}, nil
	}
}

type nearDuplicateRule struct{ likeness float64 }

func (r nearDuplicateRule) rows(_ curate.Batch, _ curate.Group, rows []curate.Row) []curate.Verdict {
	order := make([]int, len(rows))
	sketches := make([]sketch, len(rows))
	for i := range rows {
		order[i], sketches[i] = i, sketchOf(sampledText(rows[i].Trajectory))
	}
	slices.SortFunc(order, func(i, j int) int { return curate.ByGeneration(rows[i].Member, rows[j].Member) })
	verdicts := make([]curate.Verdict, len(rows))
	var stay []int
	for _, i := range order {
		if v := r.against(sketches, rows, stay, i); v.Reason != "" {
			verdicts[i] = v
		} else {
			stay = append(stay, i)
		}
	}
	return verdicts
}

// against compares one member with the kept ones.
func (r nearDuplicateRule) against(sketches []sketch, rows []curate.Row, stay []int, i int) curate.Verdict {
	for _, k := range stay {
		if like := likeness(sketches[i], sketches[k]); like >= r.likeness {
			return curate.Verdict{Reason: reasonNearDuplicate,
				Detail: fmt.Sprintf("%.3f like generation %d", like, rows[k].Member.Generation)}
		}
	}
	return curate.Verdict{}
}
