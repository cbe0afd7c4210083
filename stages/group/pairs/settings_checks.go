package pairs

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/storage/fault"
)

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
	case p.Top > 0 && p.Mode != TopK:
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
