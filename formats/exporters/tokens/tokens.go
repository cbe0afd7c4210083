// Package tokens writes sequences of tokens, as package formats/sequences makes
// them: one row for each sequence, with everything a policy gradient needs. The doc
// comment of Row is its definition.
//
// A trainer of one's own reads this form, and so do TRL, verl and OpenRLHF with a
// few lines of testdata/consumers/loaders: none of them has a loader for finished
// rollouts. Those lines fold the weight into the advantage, which is exact for a
// clipped policy loss and not for a KL term. What they add up to:
//
//	TRL        bnpo, dapo: a mean over tokens; dr_grpo: their sum over a constant;
//	           grpo: a mean over sequences. Its own advantages are recomputed from
//	           the rewards of a group; the loader hands ours over.
//	verl       token-mean, token-sum, seq-mean-token-sum(-norm): as a mean over
//	           tokens; seq-mean-token-mean: over sequences. The loader hands over
//	           the batch after its advantages.
//	OpenRLHF   a mean over tokens, or over sequences without token_level_loss. The
//	           loader hands over its experiences after their advantages.
//
// Weight is that for a mean over tokens. With weights, that for a mean over
// sequences is Weight times Tokens, divided by the mean of Tokens over all rows.
package tokens

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/number"
	"github.com/rollmill/rollmill/formats/sequences"
)

// Format is the sequences.
var Format = exporters.Format{
	Name: "sequences", Help: "sequences of tokens with masks, log probabilities, policy versions, advantages and weights, for a trainer of one's own, TRL, verl or OpenRLHF",
	Of: exporters.Rows, Columns: sequences.Column, Files: []exporters.Extension{exporters.Parquet}, Exports: []exporters.Extension{exporters.JSONL}, Loss: sequences.TokenMean,
	Table: exporters.Table(exporters.Sequenced(rows)), Lines: exporters.Lines(exporters.Sequenced(rows)),
}

// Row is one sequence. With adv the advantage and w the weight, the loss of the
// policy gradient is the mean over all tokens of the batch whose loss_mask is true
// of -w adv logprob(token), or its clipped form with logprobs as those of the old
// policy.
type Row struct {
	TrajectoryID string        `parquet:"trajectory_id" json:"trajectory_id"`
	ExampleID    string        `parquet:"example_id,dict" json:"example_id"`
	GroupID      string        `parquet:"group_id,dict" json:"group_id"`
	Epoch        int32         `parquet:"epoch,delta" json:"epoch"`
	Generation   int32         `parquet:"generation,delta" json:"generation"`
	Sequence     int32         `parquet:"sequence,delta" json:"sequence"`                                // its number in the trajectory, from 0: the main path first
	Sequences    int32         `parquet:"sequences,delta" json:"sequences"`                              // of the trajectory
	Cause        string        `parquet:"cause,optional,dict" json:"cause,omitempty"`                    // why it is apart from the one before: a branch's cause, or that of a prefix break; null for the first
	Messages     []int32       `parquet:"messages,list" json:"messages"`                                 // indexes of the trajectory's messages that train in it
	PromptIDs    []int32       `parquet:"prompt_ids,list" parquet-element:",dict" json:"prompt_ids"`     // what the engine saw before the first token that trains
	ResponseIDs  []int32       `parquet:"response_ids,list" parquet-element:",dict" json:"response_ids"` // from the first token that trains to the last
	LossMask     []bool        `parquet:"loss_mask,list" json:"loss_mask"`                               // of response_ids: true where the token was sampled and trains here
	Logprobs     number.Floats `parquet:"logprobs,list" parquet-element:",split" json:"logprobs"`        // of response_ids, in nats, of the policy that sampled; 0 where loss_mask is false
	Versions     []Version     `parquet:"versions,list" json:"versions"`                                 // of the policy, by range of response_ids
	Tokens       int32         `parquet:"tokens,delta" json:"tokens"`                                    // how often loss_mask is true
	Reward       *float64      `parquet:"reward,optional" json:"reward"`                                 // of the trajectory; null without one
	Advantage    *float64      `parquet:"advantage,optional" json:"advantage"`                           // of the trajectory; null without one
	Weight       float64       `parquet:"weight" json:"weight"`                                          // of every token, under a mean over tokens; 1 without --row-weight
	Status       string        `parquet:"status,dict" json:"status"`                                     // of the trajectory: ok or truncated
}

// Version is the policy version of a range of tokens, whose end is excluded.
type Version struct {
	Start         int32  `parquet:"start" json:"start"`
	End           int32  `parquet:"end" json:"end"`
	PolicyVersion *int64 `parquet:"policy_version,optional" json:"policy_version"` // null: unknown
}

func rows(x *exporters.Item, t *formats.Trajectory, list []sequences.Sequence) []Row {
	out := make([]Row, len(list))
	for n := range list {
		s := &list[n]
		out[n] = Row{
			TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, GroupID: t.Group(), Epoch: t.Epoch, Generation: t.Generation,
			Sequence: int32(n), Sequences: int32(len(list)), Cause: s.Cause,
			PromptIDs: s.Prompt, ResponseIDs: s.Response, LossMask: s.Mask, Logprobs: s.Logprobs, Tokens: int32(s.Tokens),
			Reward: t.Reward, Advantage: t.Advantage, Weight: x.Weights.Of(sequences.TokenMean, s, list), Status: t.Status,
		}
		for _, i := range s.Messages {
			out[n].Messages = append(out[n].Messages, int32(i))
		}
		for _, v := range s.Versions {
			out[n].Versions = append(out[n].Versions, Version{v.Start, v.End, v.Version})
		}
	}
	return out
}
