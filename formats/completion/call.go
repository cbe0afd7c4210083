package completion

import (
	"cmp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Describe sets the model and the numbers of tokens of the call that got an answer.
func (a *Answer) Describe(c *formats.Call) {
	c.Model = cmp.Or(a.Model, c.Model)
	c.PromptTokens, c.CompletionTokens, c.CachedTokens = a.Usage.Prompt, a.Usage.Completion, a.Usage.Cached
	if len(a.PromptIDs) > 0 && c.PromptTokens == 0 {
		c.PromptTokens = int32(len(a.PromptIDs))
	}
}

// CountSpent estimates, for budgets, the tokens of a call that got an answer without usage, or the beginning of one;
// nil is none.
func (a *Answer) CountSpent(c *formats.Call) {
	if a == nil {
		return
	}
	c.PromptTokens, c.CompletionTokens = a.Usage.Prompt, a.Usage.Completion
	c.PromptTokens = cmp.Or(c.PromptTokens, int32(len(a.PromptIDs)))
	c.CompletionTokens = cmp.Or(c.CompletionTokens, a.CountTokens())
}

// Note adds a member, which is true, to a call's sampling.
func Note(c *formats.Call, name string) {
	o := append(jsontext.ParseObject([]byte(c.Sampling)), jsontext.Member{Key: name, Raw: []byte("true")})
	slices.SortFunc(o, func(a, b jsontext.Member) int { return cmp.Compare(a.Key, b.Key) })
	c.Sampling = string(o.Bytes())
}
