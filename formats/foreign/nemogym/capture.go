package nemogym

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// maxCapture is the newest version of records of token capture that is known.
const maxCapture = 3

// capture converts the records of token capture of one rollout.
func capture(list []byte) (x importers.Item) {
	var c calls
	for n, o := range lineage(list) {
		c.entry(&x, n, o)
	}
	c.Source = "generation_token_ids"
	c.Into(&x.Row)
	return x
}

// calls builds the messages of a rollout from its calls.
type calls struct {
	importers.Draft
	list []entry
}

// entry is a call: its message, and all tokens up to its end.
type entry struct {
	id      string
	message int
	tokens  []int32
}

func (c *calls) entry(x *importers.Item, n int, o jsontext.Object) {
	defer must.At("call %d of the rollout", n)
	if v := must.Whole("schema_version", o.Get("schema_version")); v != nil && *v > maxCapture {
		must.Fail("schema_version %d is not known; the newest known is %d", *v, maxCapture)
	}
	x.Row.TrajectoryID = must.Text("rollout_id", o.Get("rollout_id"))
	identify(x)
	m := formats.Message{Role: "assistant"}
	content := value.Content{Message: &m}
	for raw := range jsontext.Elements(must.List("output_items", o.Get("output_items"))) {
		content.Item(must.Object("output_items", raw), raw)
	}
	content.Set()
	prompt := must.IDs("prompt_token_ids", o.Get("prompt_token_ids"))
	m.TokenIDs = must.IDs("generation_token_ids", o.Get("generation_token_ids"))
	m.Logprobs = must.Logprobs("generation_log_probs", o.Get("generation_log_probs"))
	call := formats.Call{Model: must.Text("model", o.Get("model")), Target: true, PromptTokens: int32(len(prompt)),
		CompletionTokens: int32(len(m.TokenIDs))}
	id, parentID := must.Text("model_call_id", o.Get("model_call_id")), must.Text("parent_call_id", o.Get("parent_call_id"))
	parent := c.parent(parentID, prompt)
	if c.Continue(parent); parent < 0 && len(c.list) > 0 {
		m.Branch = importers.BranchHistory
	}
	m.PromptDeltaIDs, m.PrefixBreak = c.PromptDelta(prompt)
	at := c.Sampled(m, call)
	c.list = append(c.list, entry{id, at, slices.Concat(prompt, m.TokenIDs)})
	c.Meta.Add("schema_version", o.Get("schema_version"))
	c.Meta.KeepRest(at, o, "rollout_id", "output_items", "prompt_token_ids", "generation_token_ids",
		"generation_log_probs", "model", "schema_version")
}

// parent returns the call that a call continues: the one that the record names,
// else the one with the longest tokens that the prompt begins with; -1 for none.
func (c *calls) parent(id string, prompt []int32) int {
	best, longest := -1, 0
	for _, e := range c.list {
		if id != "" && e.id == id {
			return e.message
		}
		if n := len(e.tokens); n > longest && n <= len(prompt) && slices.Equal(e.tokens, prompt[:n]) {
			best, longest = e.message, n
		}
	}
	return best
}

// identify reads a rollout id, "<task index>-<rollout index>" and for a retry
// "-a<attempt>", if it is one.
func identify(x *importers.Item) {
	task, rest, ok := strings.Cut(x.Row.TrajectoryID, "-")
	index, _, _ := strings.Cut(rest, "-a")
	n, err := strconv.ParseInt(index, 10, 64)
	if _, bad := strconv.ParseInt(task, 10, 64); ok && err == nil && bad == nil {
		x.Row.ExampleID, x.Attempt = task, &n
	}
}
