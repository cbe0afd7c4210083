package trainers

import (
	"math"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
)

// Slime writes sequences of tokens as the fields of slime's Sample, one
// for each JSON line: the token ids as the engine returned them, which of them
// are trained, and their log probabilities. Neither slime's data source nor its
// debug dump reads the file: a rollout function of a few lines makes Samples of
// it (--rollout-function-path; testdata/consumers/loaders/slime_rollout.py).
//
// A trajectory gives a sample for each of its sequences. They have the same
// rollout_id, by which slime's loss counts them as one: it is the mean over
// rollouts of the mean over their tokens.
//
// slime computes advantages from the rewards, and counts every sample of a group as
// a member of its own. So metadata has the dataset's, times the weight if there are weights. Two
// functions of that file give them to slime: --custom-reward-post-process-path (slime/ray/rollout.py)
// and, for those of tokens, --custom-advantage-function-path (slime/backends/megatron_utils/loss.py).
var Slime = exporters.Format{
	Name: "slime", Use: validate.ForGRPO, Help: "slime's samples: token ids, masks, log probabilities, for a rollout function; metadata has " +
		"advantages times weights, exact for a clipped policy loss and not for a KL term", For: exporters.Training,
	Of: exporters.Groups, Files: []exporters.Extension{exporters.JSONL}, Form: 2,
	Lines: exporters.Lines(samples), Loss: sequences.TrajectoryMean, Credit: exporters.OfTokens,
	Drift: func() exporters.Drift {
		return &art.Drift{Trainer: "slime", Compat: "slime", Scale: true, Sample: true}
	},
}

// SlimeSample is one sequence.
type SlimeSample struct {
	GroupIndex      int64           `json:"group_index"`
	Index           int64           `json:"index"`
	RolloutID       int64           `json:"rollout_id"` // the index of its trajectory's first sample
	Prompt          []chat.Message  `json:"prompt"`     // of the group; none if it has images
	Tokens          []int32         `json:"tokens"`     // prompt and response
	Response        string          `json:"response"`   // the text of the last message that trains in it
	ResponseLength  int             `json:"response_length"`
	Label           string          `json:"label"`
	Reward          jsontext.Float  `json:"reward"`            // of the trajectory
	LossMask        []int8          `json:"loss_mask"`         // of the response: 1 where it was sampled and trains here
	RolloutLogProbs jsontext.Floats `json:"rollout_log_probs"` // of the response; 0 where the mask is
	Status          string          `json:"status"`            // completed or truncated
	WeightVersions  []string        `json:"weight_versions"`   // of each message that trains, where it is known
	Metadata        SlimeMetadata   `json:"metadata"`
}

// SlimeMetadata is what slime passes on to your own functions.
type SlimeMetadata struct {
	TrajectoryID string          `json:"trajectory_id"`
	ExampleID    string          `json:"example_id"`
	Sequence     int             `json:"sequence"`             // its number in the trajectory
	Sequences    int             `json:"sequences"`            // of the trajectory
	Advantage    *jsontext.Float `json:"advantage"`            // of the trajectory, times the sequence's weight; null without one, or with Advantages
	Advantages   jsontext.Floats `json:"advantages,omitempty"` // of the response, where messages have their own, times that weight
}

// NoReward is why a trajectory with sequences gives no sample.
const NoReward = "no_reward"

func samples(x *exporters.Item) []SlimeSample {
	given := x.Given
	return exporters.Sequenced(func(x *exporters.Item, t *formats.Trajectory, list []sequences.Sequence) []SlimeSample {
		made := samplesOf(x, t, list, given)
		given += int64(len(made))
		return made
	})(x)
}

// samplesOf returns the samples of a trajectory; first is the index of the first.
func samplesOf(x *exporters.Item, t *formats.Trajectory, list []sequences.Sequence, first int64) []SlimeSample {
	if t.Reward == nil || math.IsNaN(*t.Reward) {
		x.Skip(NoReward)
		return nil
	}
	prompt, _ := trainset.PromptOf([]formats.Trajectory{*t})
	base := SlimeSample{
		GroupIndex: x.Before, RolloutID: first, Prompt: append([]chat.Message{}, prompt.Prompt...),
		Label:  formats.AnswerOf(t.Example, x.Columns),
		Reward: jsontext.Float(*t.Reward), Status: "completed",
		Metadata: SlimeMetadata{TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, Sequences: len(list)},
	}
	if t.Status == outcomes.StatusTruncated {
		base.Status = "truncated"
	}
	out := make([]SlimeSample, len(list))
	for n := range list {
		s := &list[n]
		out[n] = base
		out[n].add(t, s)
		out[n].Index, out[n].Metadata.Sequence = first+int64(n), n
		weight := x.Weights.Of(sequences.TrajectoryMean, s, list)
		for _, a := range s.Advantages {
			out[n].Metadata.Advantages = append(out[n].Metadata.Advantages, a*float32(weight))
		}
		if t.Advantage != nil && s.Advantages == nil {
			advantage := jsontext.Float(*t.Advantage * weight)
			out[n].Metadata.Advantage = &advantage
		}
	}
	return out
}

// add adds the tokens of a sequence.
func (out *SlimeSample) add(t *formats.Trajectory, s *sequences.Sequence) {
	out.Tokens = append(append([]int32{}, s.Prompt...), s.Response...)
	out.ResponseLength, out.RolloutLogProbs = len(s.Response), s.Logprobs
	out.Response = t.Messages[s.Messages[len(s.Messages)-1]].Content
	out.LossMask, out.WeightVersions = make([]int8, len(s.Mask)), []string{}
	for k, trains := range s.Mask {
		if trains {
			out.LossMask[k] = 1
		}
	}
	for _, v := range s.Versions {
		if v.Version != nil {
			out.WeightVersions = append(out.WeightVersions, strconv.FormatInt(*v.Version, 10))
		}
	}
}
