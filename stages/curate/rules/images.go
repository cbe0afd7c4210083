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
		New: func() curate.RuleSettings {
			return &Switch{Flag: "drop-images", Does: eachRow(images), Help: "drop trajectories with images, audio, " +
				"video or files before a token that trains, which token ids do not hold"}
		}},
	Reasons: []string{reasonImages},
}

func images(_ curate.Batch, r curate.Row) curate.Verdict {
	if problem := sequences.Seen(r.Trajectory, sequences.Histories(r.Trajectory)); problem != nil {
		return curate.Verdict{Reason: reasonImages, Detail: problem.Detail}
	}
	return curate.Verdict{}
}
