// Package pairs makes what trainers of preferences need of a group: pairs of a better and a
// worse answer (Settings, Writer), and labels of desirable and undesirable ones.
//
//	pairs            which pairs: settings, and the pairs that scores allow
//	pairer, labels   Writer: pairs and labels of one group after the other
//	shared_prompt    where two attempts differ
//	pair_facts       what the manifest counts of them, and says of it
package pairs

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Settings says which preferences to make of a group. Members without a reward,
// and the candidates of failed trajectories, are in none.
//
// Both answers of a pair must continue the same prompt. Whole trajectories are
// compared up to their first difference: it must be a message that the model
// sampled in both, after messages with the same role, content, name and tool
// calls (apart from the calls' ids) and the same tools. Candidates are paired
// within one turn of one trajectory. Pairs with identical answers are refused.
//
// Under FirstDifference a pair of trajectories ends with the first message
// that differs: one answer, with its tool calls, against another. Trainers that
// compare single answers then learn from agents that call tools. The messages
// after it, by which the rewards were earned, are not in the pair.
//
// Under --compat nat candidates are paired as the NeMo Agent Toolkit's DPO builder
// does it: a turn is what the agent named so, anywhere in the group; prompts
// are not compared (the better answer's is used); equal scores make pairs
// unless a margin forbids it; equal differences are in the order of its stable
// sorts. Once does what its trainer does to these pairs by default (there over
// all examples, here over a group): identical pairs are deduplicated after the
// limit.
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

// Modes lists the known values.
var Modes = []Mode{Exhaustive, BestWorst, TopK}

// Source is what is paired.
type Source string

const (
	Trajectories Source = "trajectories" // by reward
	Candidates   Source = "candidates"   // of a turn, by the agent's scores
)

// Sources lists the known values, the default first.
var Sources = []Source{Trajectories, Candidates}

// End is where a pair of trajectories ends.
type End string

const (
	Whole           End = "whole"            // at the trajectories' ends
	FirstDifference End = "first-difference" // after the first message that differs
)

// Ends lists the known values, the default first.
var Ends = []End{Whole, FirstDifference}

// DefaultTop is how many are paired in mode TopK.
const DefaultTop = 2

// Declare declares the fields. They are in the identity as one object, if there
// are pairs.
func (p *Settings) Declare(d *plugin.Declarer) {
	plugin.Choice(d, &p.Mode, "pairs", "make preference pairs in _pairs in this `MODE`: exhaustive, best-worst, top-k",
		Modes...).Common()
	plugin.Choice(d, &p.From, "pairs-from", "pair `WHAT`: trajectories, candidates", Sources...).
		DefaultShown("trajectories, or candidates with --compat nat")
	plugin.Choice(d, &p.At, "pair-at",
		"compare trajectories `UP-TO`: the whole rest after the shared prompt, or the first message that differs, with "+
			"its tool calls", Ends...).DefaultShown(string(Whole))
	d.Int(&p.Top, "pair-top", "pair the `K` best with the K worst; with --pairs top-k").DefaultShown(strconv.Itoa(DefaultTop))
	d.Float(&p.Margin, "pair-margin", "pair only scores that differ by at least `X`")
	d.Int(&p.Limit, "pair-limit", "make at most `N` pairs of a group, or of a turn; 0 for no limit")
	d.Bool(&p.Ties, "pair-ties", "pair equal scores too")
	d.Bool(&p.Once, "pair-once", "deduplicate identical pairs within a group")
}

// Validate fills in the defaults. nat says that pairs are made as under --compat nat.
func (p *Settings) Validate(nat bool) error {
	usage := func(hint, format string, args ...any) error {
		return fault.Errorf(fault.Usage, hint, format, args...)
	}
	p.nat = nat
	if p.From == "" {
		if p.From = Trajectories; p.nat {
			p.From = Candidates
		}
	}
	switch {
	case p.Mode == "":
		if p.At != "" || p.Limit != 0 || p.Margin != 0 || p.Top != 0 || p.Ties || p.Once {
			return usage("say which with --pairs", "group: pairs have settings, but --pairs is not set")
		}
		return nil
	case !slices.Contains(Modes, p.Mode):
		return usage("use exhaustive, best-worst or top-k", "group: unknown --pairs %q", p.Mode)
	case !slices.Contains(Sources, p.From):
		return usage("use trajectories or candidates", "group: unknown --pairs-from %q", p.From)
	case p.At == FirstDifference && p.From != Trajectories:
		return usage("candidates are single messages: leave it out", "group: --pair-at %s with --pairs-from %s", p.At, p.From)
	case !(p.Margin >= 0) || math.IsInf(p.Margin, 0):
		return usage("give a difference of scores, 0 or more", "group: --pair-margin %v", p.Margin)
	case p.Limit < 0:
		return usage("give a number of pairs; 0 is no limit", "group: --pair-limit %d", p.Limit)
	case p.Top < 0 || p.Top > 0 && p.Mode != TopK:
		return usage("give a number of pairs, with --pairs top-k", "group: --pair-top %d", p.Top)
	case p.nat && (p.From != Candidates || p.Mode == TopK):
		return usage("NAT pairs candidates, exhaustive or best-worst", "group: --compat nat makes no such pairs")
	}
	if p.At == Whole {
		p.At = "" // the identity of pairs from before there was a choice
	}
	if p.Top == 0 && p.Mode == TopK {
		p.Top = DefaultTop
	}
	return nil
}

// option is a possible pair: indexes of the better and the worse one.
type option struct {
	better, worse int
	margin        float64
}

// options lists the pairs that the mode allows, best first. Scores are finite.
// refuse is called with the fact for each pair that scores alone rule out.
func (p *Settings) options(scores []float64, refuse func(fact string)) []option {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	var out []option
	add := func(i, j int) {
		o := option{order[i], order[j], max(-math.MaxFloat64, min(scores[order[i]]-scores[order[j]], math.MaxFloat64))}
		switch {
		case !p.nat && !p.Ties && training.Flat(scores[o.worse], scores[o.better], p.tolerance):
			refuse(factPairsTie)
		case o.margin < p.Margin:
			refuse(factPairsMargin)
		default:
			out = append(out, o)
		}
	}
	n := len(order)
	switch p.Mode {
	case Exhaustive:
		for i := range n {
			for j := i + 1; j < n; j++ {
				add(i, j)
			}
		}
		slices.SortStableFunc(out, func(a, b option) int { return cmp.Compare(b.margin, a.margin) })
	case BestWorst:
		if n > 1 {
			add(0, n-1)
		}
	case TopK:
		for i := range min(p.Top, n/2) {
			add(i, n-1-i)
		}
	}
	return out
}
