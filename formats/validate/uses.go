package validate

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// use is something that trajectories can be used for.
type use struct {
	Name string `json:"use"`
	Help string `json:"help"` // a lower-case phrase
}

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

// Use is what a file's rows train.
type Use uint8

// The uses of files. A prompt is sampled again; tokens train as they were recorded.
const (
	ForSFT     = Use(forSFT)
	ForDPO     = Use(forDPO)
	ForKTO     = Use(forKTO)
	ForTokens  = Use(forTokens)
	ForGRPO    = Use(forTokens | forGRPO)
	ForPrompts = Use(forPrompts)
)

// Accepted are the names of findings whose rows are written all the same.
type Accepted map[string]bool

// ungated are checks that a source's report makes, and of which a file's writer knows
// more: the scores, groups and preferences that a row got later, and each token.
var ungated = []string{"no_preferences", "failures", "untrained", "no_assistant", "unscored", "no_logprobs", "partial_logprobs",
	"logprob_count", "logprob_floors", "no_token_ids", "no_prompt_ids"}

// Blocks returns the finding that excludes a row from a use, "" for none: the same that
// the report of an import counts.
func (a Accepted) Blocks(t *formats.Trajectory, use Use) string {
	if use == 0 {
		return ""
	}
	r := WideRow(0, t)
	for i := range imported {
		c := &imported[i]
		if c.row == nil || c.Blocks&uses(use) == 0 || a[c.Name] || slices.Contains(ungated, c.Name) {
			continue
		}
		count := Count{bare: true}
		if c.row(&count, &r); count.N > 0 {
			return c.Name
		}
	}
	return ""
}

// BlocksGroup returns the finding that excludes a whole group of imported rows from a
// use, "" for none.
func (a Accepted) BlocksGroup(rows []formats.Trajectory, use Use) string {
	c := &imported[slices.IndexFunc(imported, func(c Check) bool { return c.Name == "prefix_rows" })]
	if c.Blocks&uses(use) == 0 || a[c.Name] || len(rows) < 2 || rows[0].Attempts > 0 {
		return ""
	}
	all, text := make([]turns, 0, len(rows)), false // a form of tokens may not read texts
	for i := range rows {
		if valid(rows[i].Status) {
			r := WideRow(int64(i), &rows[i])
			all = append(all, r.turns())
			text = text || slices.ContainsFunc(rows[i].Messages, func(m formats.Message) bool { return m.Content != "" })
		}
	}
	if text && chained(all) {
		return c.Name
	}
	return ""
}

// BlocksAny returns the first finding that excludes one of these rows from a use; with
// ids only the rows of these trajectories are looked at.
func (a Accepted) BlocksAny(rows []formats.Trajectory, use Use, ids ...string) string {
	for i := range rows {
		if len(ids) > 0 && !slices.Contains(ids, rows[i].TrajectoryID) {
			continue
		}
		if why := a.Blocks(&rows[i], use); why != "" {
			return why
		}
	}
	return ""
}

// Accept returns the findings that a user accepts by name.
func Accept(names []string) (Accepted, error) {
	found, err := Named(slices.DeleteFunc(slices.Clone(All), func(c Check) bool { return c.Sees == WholeRun }), names)
	return found, err
}
