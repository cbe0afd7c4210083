// Package trainset turns groups into lists of chat messages, from which the formats
// of trainers that read text are made: preference pairs for DPO and similar
// methods, single answers with a label for KTO, whole conversations for SFT, and
// prompts for trainers that sample themselves (GRPO, RLOO). The columns are those
// of Hugging Face TRL, which formats/foreign/trainers writes as they are; other
// formats convert them.
//
// Values whose keys differ from row to row (tools, the arguments of a call, the
// example) are JSON strings, because Arrow would merge the keys of all rows and
// fill them with nulls.
//
// It selects no rows: curate decides what is worth training on, and group what
// to compare. Only for batches without pairs or labels does it compare the best
// of each group with the worst, and label by the advantage.
package trainset

import (
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Preference is a row of a preference dataset. Chosen and Rejected are the
// policy's answers to the same prompt.
type Preference struct {
	Prompt        []chat.Message
	Chosen        []chat.Message
	Rejected      []chat.Message
	Tools         string // JSON array
	ScoreChosen   jsontext.Float
	ScoreRejected jsontext.Float
	Margin        jsontext.Float // of the scores, for reward models
	ChosenID      string
	RejectedID    string
}

// Prompt is a row of a prompt-only dataset. Reward functions get the other columns as arguments.
type Prompt struct {
	Prompt    []chat.Message
	Tools     string
	ExampleID string
	Example   string // JSON object
}

// Unpaired is a row of an unpaired preference dataset (KTO): one answer, good or bad.
type Unpaired struct {
	Prompt       []chat.Message
	Completion   []chat.Message
	Label        bool
	Tools        string
	Score        jsontext.Float
	TrajectoryID string
}

// Conversation is a row of a language modelling dataset (SFT).
type Conversation struct {
	Messages     []chat.Message
	Tools        string
	Score        *jsontext.Float // nil: never scored
	TrajectoryID string
}

// Why a group, a pair or a label gives no row: a closed list.
const (
	TooFew   = "too_few"  // fewer than two members with a reward and an answer
	Tie      = "tie"      // the best and the worst have the same reward; for a single member: its reward is the mean
	Prompts  = "prompts"  // the two answered different prompts, or an unknown one
	Same     = "same"     // the two answers are equal
	Turns    = "turns"    // more than one message was sampled: a pair would train on messages of others
	Parts    = "parts"    // content that is not text
	Empty    = "empty"    // nothing was sampled
	Unscored = "unscored" // an answer, and no reward by which it is chosen
	Branches = "branches" // something was sampled outside the main path, and a row holds one path
	Others   = "others"   // an assistant's message that the policy did not sample would be trained on
)

// tolerance is the largest difference of rewards that counts as a tie.
const tolerance = 1e-9

// Pair returns the preference of a group that has no pairs of its own (see
// Compared): its best against its worst member. The reason is not "" when there
// is none.
func Pair(rows []formats.Trajectory) (p Preference, reason string) {
	best, worst := Extremes(rows)
	switch {
	case best < 0 || len(rows) < 2:
		return p, TooFew
	case *rows[best].Reward-*rows[worst].Reward <= tolerance:
		return p, Tie
	}
	win, lose := &rows[best], &rows[worst]
	prompt, chosen, tools, reason := split(win)
	if reason != "" {
		return p, reason
	}
	other, rejected, otherTools, reason := split(lose)
	if reason != "" {
		return p, reason
	}
	if !slices.EqualFunc(prompt, other, equal) || tools != otherTools {
		return p, Prompts
	}
	if slices.EqualFunc(chosen, rejected, equal) {
		return p, Same
	}
	return Preference{
		Prompt: prompt, Chosen: chosen, Rejected: rejected, Tools: tools,
		ScoreChosen: jsontext.Float(*win.Reward), ScoreRejected: jsontext.Float(*lose.Reward),
		Margin: jsontext.Float(*win.Reward - *lose.Reward), ChosenID: win.TrajectoryID, RejectedID: lose.TrajectoryID,
	}, ""
}

// PromptOf returns the prompt of a group, which its members share.
func PromptOf(rows []formats.Trajectory) (p Prompt, reason string) {
	for i := range rows {
		t := &rows[i]
		at := cut(t)
		if at < 0 {
			continue
		}
		path := t.Main()
		messages, ok := chat.TextMessages(t, path[:at])
		if !ok {
			return p, Parts
		}
		return Prompt{Prompt: messages, Tools: chat.ToolsOf(t, path[at]), ExampleID: t.ExampleID, Example: t.Example}, ""
	}
	return p, Empty
}

// Extremes returns the members of a group with the highest and the lowest
// reward, the first of equals, of those with a reward and an answer on the main
// path; -1 when there is none.
func Extremes(rows []formats.Trajectory) (best, worst int) {
	best, worst = -1, -1
	for i := range rows {
		r := rows[i].Reward
		if r == nil || math.IsNaN(*r) || cut(&rows[i]) < 0 {
			continue
		}
		if best < 0 || *r > *rows[best].Reward {
			best = i
		}
		if worst < 0 || *r < *rows[worst].Reward {
			worst = i
		}
	}
	return best, worst
}

// cut returns the index on the main path of the first message that the policy
// sampled; -1 when there is none.
func cut(t *formats.Trajectory) int {
	return slices.IndexFunc(t.Main(), t.Trained)
}

// split separates a trajectory into prompt and answer. An answer is one
// message: TRL trains on everything after the prompt.
func split(t *formats.Trajectory) (prompt, answer []chat.Message, toolSet, reason string) {
	path, at := t.Main(), cut(t)
	sampled, here := 0, 0
	for i := range t.Messages {
		if t.Trained(i) {
			sampled++
		}
	}
	for _, i := range path {
		if t.Trained(i) {
			here++
		}
	}
	switch {
	case here > 1:
		return nil, nil, "", Turns
	case sampled > here:
		return nil, nil, "", Branches
	}
	prompt, ok := chat.TextMessages(t, path[:at])
	answer, fine := chat.TextMessages(t, path[at:at+1])
	if !ok || !fine {
		return nil, nil, "", Parts
	}
	return prompt, answer, chat.ToolsOf(t, path[at]), ""
}

func equal(a, b chat.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Name == b.Name && a.Reasoning == b.Reasoning &&
		a.ToolCallID == b.ToolCallID && slices.Equal(a.ToolCalls, b.ToolCalls)
}
