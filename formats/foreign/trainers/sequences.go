package trainers

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/validate"
)

// Sequences writes sequences of tokens, as package formats/sequences makes
// them: one row for each sequence, with everything that a policy gradient needs.
// The doc comment of [SequenceRow] is its definition.
//
// It is for a trainer of your own, and for TRL, verl, OpenRLHF and NeMo-RL by a few
// lines of testdata/consumers/loaders: none of them has a loader for finished
// rollouts. prime-rl has one ([PrimeRL]).
//
// Those lines fold the weight into the advantage, which is exact for a
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
//	NeMo-RL    a mean over tokens, or over sequences without token_level_loss. The
//	           loader hands over the training batch after its advantages.
//
// Weight is that for a mean over tokens. With weights, that for a mean over
// sequences is Weight times Tokens, divided by the mean of Tokens over all rows.
var Sequences = exporters.Format{
	Name: "sequences", Use: validate.ForTokens, For: exporters.Training,
	Help: "sequences of tokens with masks, log probabilities, policy versions, advantages and weights, for a trainer of " +
		"your own, TRL, verl, OpenRLHF or NeMo-RL",
	Of: exporters.Rows, Reads: sequences.Column, Files: []exporters.Extension{exporters.Parquet},
	Exports: []exporters.Extension{exporters.JSONL}, Loss: sequences.TokenMean, Credit: exporters.OfLosses, Form: 2,
	Columns: exporters.ColumnsOf[SequenceRow](),
	Table:   exporters.Table(exporters.Sequenced(sequencesRows)), Lines: exporters.Lines(exporters.Sequenced(sequencesRows)),
}

// SequenceRow is one sequence. With adv the advantage, or that of each token where
// advantages has them, and w the weight, the loss of the
// policy gradient is the mean over all tokens of the batch whose loss_mask is true
// of -w adv logprob(token), or its clipped form with logprobs as those of the old
// policy. Where rl_weights are given, there are three such means, each over the tokens
// whose weight in it is not 0, and each token counts by that weight times w: that
// one, the mean of -logprob(token) for ce_weights, and for ref_kl_weights that of
// the policy gradient with ref_logprobs minus the token's own as the advantage.
// Its columns say what they hold in their tags, from which help and the
// dataset card repeat it.
type SequenceRow struct {
	TrajectoryID string            `parquet:"trajectory_id" json:"trajectory_id" meaning:"the trajectory's id"`
	ExampleID    string            `parquet:"example_id,dict" json:"example_id" meaning:"its example's id"`
	GroupID      string            `parquet:"group_id,dict" json:"group_id" meaning:"its group's id"`
	Epoch        int32             `parquet:"epoch,delta" json:"epoch" meaning:"which pass of the five stages, from 0"`
	Generation   int32             `parquet:"generation,delta" json:"generation" meaning:"which attempt at the example, from 0"`
	Sequence     int32             `parquet:"sequence,delta" json:"sequence" meaning:"its number in the trajectory, from 0: the main path first"`
	Sequences    int32             `parquet:"sequences,delta" json:"sequences" meaning:"how many the trajectory gave"`
	Cause        string            `parquet:"cause,optional,dict" json:"cause,omitempty" meaning:"that of the branch or prefix break; null for the first"`
	Messages     []int32           `parquet:"messages,list" json:"messages" meaning:"indexes of the trajectory's messages that train in it"`
	PromptIDs    []int32           `parquet:"prompt_ids,list" parquet-element:",dict" json:"prompt_ids" meaning:"the ids before response_ids"`
	ResponseIDs  []int32           `parquet:"response_ids,list" parquet-element:",dict" json:"response_ids" meaning:"from the first trained token to the last"`
	LossMask     []bool            `parquet:"loss_mask,list" json:"loss_mask" meaning:"for each of response_ids: true where it was sampled and trains here"`
	Logprobs     jsontext.Floats   `parquet:"logprobs,list" parquet-element:",split" json:"logprobs" meaning:"in nats; 0 where loss_mask is false"`
	Versions     []SequenceVersion `parquet:"versions,list" json:"versions" meaning:"which version of the policy sampled which range of response_ids"`
	Tokens       int32             `parquet:"tokens,delta" json:"tokens" meaning:"how often loss_mask is true"`
	Reward       *float64          `parquet:"reward,optional" json:"reward" meaning:"that of the trajectory; null without one"`
	Advantage    *float64          `parquet:"advantage,optional" json:"advantage" meaning:"that of the trajectory; null without one"`
	Advantages   jsontext.Floats   `parquet:"advantages,optional,list" parquet-element:",split" json:"advantages,omitempty" meaning:"of response_ids, or null"`
	RLWeights    jsontext.Floats   `parquet:"rl_weights,optional,list" parquet-element:",split" json:"rl_weights,omitempty" meaning:"of the loss rl; null: 1"`
	CEWeights    jsontext.Floats   `parquet:"ce_weights,optional,list" parquet-element:",split" json:"ce_weights,omitempty" meaning:"of the loss ce; null: 0"`
	RefKLWeights jsontext.Floats   `parquet:"ref_kl_weights,optional,list" parquet-element:",split" json:"ref_kl_weights,omitempty" meaning:"of ref_kl"`
	RefLogprobs  jsontext.Floats   `parquet:"ref_logprobs,optional,list" parquet-element:",split" json:"ref_logprobs,omitempty" meaning:"for ref_kl, in nats"`
	Weight       float64           `parquet:"weight" json:"weight" meaning:"of each of its tokens, under a mean over tokens; 1 without --row-weight"`
	Status       string            `parquet:"status,dict" json:"status" meaning:"that of the trajectory: ok or truncated"`
}

// SequenceVersion is the policy version of a range of tokens, whose end is excluded.
type SequenceVersion struct {
	Start         int32  `parquet:"start" json:"start" meaning:"the first token, from 0"`
	End           int32  `parquet:"end" json:"end" meaning:"the one after the last"`
	PolicyVersion *int64 `parquet:"policy_version,optional" json:"policy_version" meaning:"of the weights that sampled them; null: unknown"`
}

func sequencesRows(x *exporters.Item, t *formats.Trajectory, list []sequences.Sequence) []SequenceRow {
	out := make([]SequenceRow, len(list))
	for n := range list {
		s := &list[n]
		out[n] = SequenceRow{
			TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, GroupID: t.Group(), Epoch: t.Epoch,
			Generation: t.Generation,
			Sequence:   int32(n), Sequences: int32(len(list)), Cause: s.Cause,
			PromptIDs: s.Prompt, ResponseIDs: s.Response, LossMask: s.Mask, Logprobs: s.Logprobs, Tokens: int32(s.Tokens),
			Reward: t.Reward, Advantage: t.Advantage, Advantages: s.Advantages,
			Weight: x.Weights.Of(sequences.TokenMean, s, list), Status: t.Status,
		}
		if l := s.Losses; l != nil {
			out[n].RLWeights, out[n].CEWeights, out[n].RefKLWeights, out[n].RefLogprobs = l.RL, l.CE, l.RefKL, l.Reference
		}
		for _, i := range s.Messages {
			out[n].Messages = append(out[n].Messages, int32(i))
		}
		for _, v := range s.Versions {
			out[n].Versions = append(out[n].Versions, SequenceVersion{v.Start, v.End, v.Version})
		}
	}
	return out
}
