// Package pairs makes what trainers of preferences need of a group: pairs of a better and a
// worse answer (Settings, Writer), and labels of desirable and undesirable ones.
//
//	pairs            the settings (settings_checks), and which pairs scores allow (pair_choice)
//	pairer, labels   Writer: pairs and labels of one group after the other
//	shared_prompt    where two attempts differ
//	pair_facts       what the manifest counts of them, and says of it
package pairs

import (
	"strconv"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Settings says which preferences to make of a group. Members without a reward, and the candidates
// of failed trajectories, are in none.
//
// Both answers of a pair must continue the same prompt. Whole trajectories are compared up to their
// first difference: it must be a message that the model sampled in both, after messages with the
// same role, content, name and tool calls (apart from the calls' ids) and the same tools.
// Candidates are paired within one turn of one trajectory. Pairs with identical answers are
// refused.
//
// Under FirstDifference a pair of trajectories ends with the first message that differs: one
// answer, with its tool calls, against another. Trainers that compare single answers then learn
// from agents that call tools. The messages after it, by which the rewards were earned, are not in
// the pair.
//
// Under --compat nat candidates are paired as the NeMo Agent Toolkit's DPO builder does it: a turn
// is what the agent named so, anywhere in the group; prompts are not compared (the better answer's
// is used); equal scores make pairs unless a margin forbids it; equal differences are in the order
// of its stable sorts. Once does what its trainer does to these pairs by default (there over all
// examples, here over a group): identical pairs are deduplicated after the limit.
type Settings struct {
	Mode   Mode    `json:"mode"`           // "" makes none
	From   Source  `json:"from"`           // default Trajectories; Candidates under --compat nat
	At     End     `json:"at,omitempty"`   // where pairs of trajectories end; default Whole
	Top    int     `json:"top,omitempty"`  // of TopK; default DefaultTop
	Margin float64 `json:"margin"`         // least difference of scores
	Limit  int     `json:"limit"`          // most pairs of a group, or of a turn; 0 is no limit
	Ties   bool    `json:"ties,omitempty"` // equal scores make pairs too
	Once   bool    `json:"once,omitempty"` // identical pairs of a group are one

	nat       bool
	tolerance float64 // relative spread of equal scores
}

// Mode is which of a group's members are paired.
type Mode string

const (
	Exhaustive Mode = "exhaustive" // every better one with every worse one, the largest difference first
	BestWorst  Mode = "best-worst" // the best with the worst
	TopK       Mode = "top-k"      // the best with the worst, the second with the second worst, up to Top
)

// Source is what is paired.
type Source string

const (
	Trajectories Source = "trajectories" // by reward
	Candidates   Source = "candidates"   // of a turn, by the agent's scores
)

// End is where a pair of trajectories ends.
type End string

const (
	Whole           End = "whole"            // at the trajectories' ends
	FirstDifference End = "first-difference" // after the first message that differs
)

// The known values: of sources and ends, the default comes first.
var (
	Modes   = []Mode{Exhaustive, BestWorst, TopK}
	Sources = []Source{Trajectories, Candidates}
	Ends    = []End{Whole, FirstDifference}
)

// DefaultTop is how many are paired in mode TopK.
const DefaultTop = 2

// Declare declares the fields. They are in the identity as one object, if there are pairs.
func (p *Settings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &p.Mode, "pairs", "make preference pairs in _pairs in this `MODE`: exhaustive, best-worst, top-k",
		Modes...).Common()
	plugin.Choice(d, &p.From, "pairs-from", "pair `WHAT`: trajectories, candidates", Sources...).
		DefaultShown("trajectories, or candidates with --compat nat")
	plugin.Choice(d, &p.At, "pair-at",
		"compare trajectories `UP-TO`: the whole rest after the shared prompt, or the first message that differs, with "+
			"its tool calls", Ends...).DefaultShown(string(Whole))
	d.Int(&p.Top, "pair-top", "pair the `K` best with the K worst; with --pairs top-k").Min(0).
		DefaultShown(strconv.Itoa(DefaultTop))
	d.Float(&p.Margin, "pair-margin", "pair only scores that differ by at least `X`")
	d.Int(&p.Limit, "pair-limit", "make at most `N` pairs of a group, or of a turn; 0 for no limit").Min(0)
	d.Bool(&p.Ties, "pair-ties", "pair equal scores too")
	d.Bool(&p.Once, "pair-once", "deduplicate identical pairs within a group")
}
