package rules

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonSubsample = "subsample" // a seeded random choice excluded it

// Sample keeps a share of the groups, and a share of the remaining
// trajectories. The draw is a hash of the seed and the id, so it does not
// depend on the other groups: a group that is kept among ten is kept among
// thousands, and a larger share keeps everything that a smaller one does.
var Sample = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "sample",
		Help: "keep a random share of the groups, or of the trajectories",
		New:  func() curate.RuleSettings { return &SampleSettings{} }},
	Reasons: []string{reasonSubsample},
	Seeded:  true,
}

// SampleSettings are the rule's settings; nil keeps all.
type SampleSettings struct {
	Groups       *float64 // share of the groups, in (0, 1]
	Trajectories *float64 // share of the trajectories, in (0, 1]
}

// Declare declares the settings.
func (s *SampleSettings) Declare(d *plugin.Declarer) {
	d.OptionalFloat(&s.Groups, "sample-groups", "keep a random `SHARE` of the groups").ID("sample-groups")
	d.OptionalFloat(&s.Trajectories, "sample-trajectories", "keep a random `SHARE` of the trajectories").
		ID("sample-trajectories")
}

// Rule makes the rule.
func (s *SampleSettings) Rule(curate.Setup) (curate.Rule, error) {
	for _, x := range plugin.Declared(s) {
		if share, given := x.Value().(float64); given && !(share > 0 && share <= 1) {
			return curate.Rule{}, curate.Usage("a share is above 0 and at most 1", "curate: --%s %v", x.Name, share)
		}
	}
	if *s == (SampleSettings{}) {
		return curate.Rule{}, nil
	}
	return curate.Rule{Group: sampleRule(*s).group, Members: sampleRule(*s).members}, nil
}

type sampleRule SampleSettings

func (r sampleRule) group(b curate.Batch, g *curate.Group) curate.Verdict {
	return draw(r.Groups, b.Seed, "group", g.ID)
}

func (r sampleRule) members(b curate.Batch, members []formats.Member) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(members))
	for i := range members {
		verdicts[i] = draw(r.Trajectories, b.Seed, "trajectory", members[i].TrajectoryID)
	}
	return verdicts
}

func draw(share *float64, seed int64, what, id string) curate.Verdict {
	if share == nil || float64(formats.Seed(seed, "sample", what, id))/math.MaxInt64 < *share || *share == 1 {
		return curate.Verdict{}
	}
	return curate.Verdict{Reason: reasonSubsample}
}
