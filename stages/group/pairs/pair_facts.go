package pairs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/plural"
)

// Facts about pairs and labels.
const (
	factPairs        = "pairs"
	factPairsTie     = "pairs_tie"     // refused: scores are equal
	factPairsMargin  = "pairs_margin"  // refused: scores differ too little
	factPairsPrompts = "pairs_prompts" // refused: the prompts differ, or the difference is not in a sampled message
	factPairsSame    = "pairs_same"    // refused: identical answers
	FactDesirable    = "desirable"     // labels of each kind
	FactUndesirable  = "undesirable"
	FactLabels       = "labels"
	factPairsLimit   = "pairs_limit" // left out: the group or turn has enough
	factPairsAgain   = "pairs_again" // refused: an earlier pair is identical

	// Groups without a pair; the reason of the first that was refused follows.
	factUnpaired = "groups_unpaired_"
	factPairsFew = "pairs_alone" // there were not two to compare

	// Made, but not possible in the files of preference trainers; the exporter's reason follows.
	factPairsUnfit  = "pairs_unfit_"
	factLabelsUnfit = "labels_unfit_"
)

// Message describes pairs and labels by their facts; "" without any.
func Message(f map[string]float64) (text string) {
	if n, ok := f[factPairs]; ok {
		text += "; " + plural.Of(n, "pair") + unfit(f, factPairsUnfit)
		if f[factPairsUnfit+trainset.Turns] > 0 {
			text += " (--pair-at first-difference ends pairs with the first answer)"
		}
		text += unpaired(f)
	}
	if d, ok := f[FactDesirable]; ok {
		n := f[FactUndesirable]
		wd, wu := formats.KTOWeights(int64(d), int64(n))
		text += fmt.Sprintf("; %.0f desirable, %.0f undesirable: KTO weights %.4g and %.4g", d, n, wd, wu) +
			unfit(f, factLabelsUnfit)
	}
	return text
}

func unpaired(f map[string]float64) string {
	sum, why := reasons(f, factUnpaired, unpairedReasons)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("; %s gave no pair: %s", plural.Of(sum, "group"), why)
}

var unpairedReasons = map[string]string{
	"tie":     "scores are equal",
	"margin":  "scores are closer than the margin",
	"prompts": "prompts differ, or the first difference is not an answer of the model",
	"same":    "answers are the same",
	"again":   "the pair is there already",
	"alone":   "fewer than two to compare",
}

// reasons adds up the facts that begin with a prefix, with their reasons in words.
func reasons(f map[string]float64, prefix string, words map[string]string) (sum float64, why string) {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if reason, ok := strings.CutPrefix(key, prefix); ok {
			sum += f[key]
			list = append(list, fmt.Sprintf("%s %.0f", words[reason], f[key]))
		}
	}
	return sum, strings.Join(list, ", ")
}

// unfit describes the pairs or labels that submit cannot write for preference trainers, and why.
func unfit(f map[string]float64, prefix string) string {
	sum, why := reasons(f, prefix, unfitReasons)
	if why == "" {
		return ""
	}
	return fmt.Sprintf(" (%.0f of them unfit for the files of preference trainers: %s)", sum, why)
}

// unfitReasons are the exporter's reasons in words.
var unfitReasons = map[string]string{
	trainset.Parts:   "content that is not text",
	trainset.Prompts: "no shared prompt",
	trainset.Turns:   "several answers after the prompt",
	trainset.Empty:   "no answer after the prompt",
	trainset.Same:    "both answers the same",
}
