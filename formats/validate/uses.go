package validate

// use is something that trajectories can be used for.
type use struct {
	Name string `json:"use"`
	Help string `json:"help"` // a lower-case phrase
}

// allUses are in display order.
var allUses = [numUses]use{
	{"grpo", "policy gradient with the recorded logprobs: GRPO, RLOO and similar"},
	{"tokens", "training on the recorded token ids: sequences; with grpo slime, prime-rl, ART"},
	{"dpo", "preference pairs: DPO and similar"},
	{"kto", "single answers, good or bad: KTO"},
	{"sft", "supervised fine-tuning on whole conversations"},
	{"judging", "scoring by a judge model or by the text of the answer"},
	{"tool-rewards", "scoring again with rewards that read tool calls"},
}

// uses is a set of uses, by their place in allUses.
type uses uint8

const (
	forGRPO uses = 1 << iota
	forTokens
	forDPO
	forKTO
	forSFT
	forJudging
	forToolRewards

	numUses = iota

	forPrompts uses = 1 << 7 // of prompts alone, which no report lists

	recorded    = forGRPO | forTokens
	answers     = forDPO | forKTO | forSFT // what trains on the text of answers
	forTraining = recorded | answers
	scoring     = forJudging | forToolRewards
	anyUse      = forTraining | scoring | forPrompts

	grouping = forGRPO | forDPO // what compares the rows of a group
)

func (u uses) names() []string {
	out := []string{}
	for i := range allUses {
		if u&(1<<i) != 0 {
			out = append(out, allUses[i].Name)
		}
	}
	return out
}
