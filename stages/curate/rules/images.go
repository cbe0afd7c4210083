package rules

import (
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonImages = "images" // images, audio, video or files come before a token that trains

// Images refuses trajectories in which the policy saw an image, audio,
// video or a file before a token that trains. Token ids hold nothing of these,
// so a trainer that learns from ids learns answers to what it does not see.
var Images = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "images",
		Help: "drop trajectories with images, audio, video or files before a token that trains",
		New:  func() curate.RuleSettings { return &ImagesSettings{} }},
	Reasons: []string{reasonImages},
}

// ImagesSettings are the rule's settings.
type ImagesSettings struct {
	Drop bool // false: the rule does not run
}

// Declare declares the settings.
func (s *ImagesSettings) Declare(d *plugin.Declarer) {
	d.Bool(&s.Drop, "drop-images",
		"drop trajectories with images, audio, video or files before a token that trains, which token ids do not hold").
		ID("drop-images")
}

// Rule makes the rule.
func (s *ImagesSettings) Rule(curate.Setup) (curate.Rule, error) {
	if !s.Drop {
		return nil, nil
	}
	return imagesRule{}, nil
}

type imagesRule struct{}

func (imagesRule) Rows(_ curate.Batch, _ curate.Group, rows []curate.Row) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(rows))
	for i, r := range rows {
		if problem := sequences.Seen(r.Trajectory); problem != nil {
			verdicts[i] = curate.Verdict{Reason: reasonImages, Detail: problem.Detail}
		}
	}
	return verdicts
}
