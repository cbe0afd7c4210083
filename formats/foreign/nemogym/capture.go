package nemogym

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// maxCapture is the newest version of records of token capture that is known.
const maxCapture = 3

// capture converts the records of token capture of one rollout.
func capture(list []byte) (x importers.Item, err error) {
	var c calls
	records, err := lineage(list)
	if err != nil {
		return x, err
	}
	for n, o := range records {
		if err := c.entry(&x, o); err != nil {
			return x, fmt.Errorf("call %d of the rollout: %w", n, err)
		}
	}
	c.Into(&x.Row)
	x.Row.TokenSource = "generation_token_ids"
	x.Row.Metadata = c.meta.String()
	return x, nil
}

// calls builds the messages of a rollout from its calls.
type calls struct {
	importers.Conversation
	meta importers.Metadata
	list []entry
}

// entry is a call: its message, and all tokens up to its end.
type entry struct {
	id      string
	message int
	tokens  []int32
}

func (c *calls) entry(x *importers.Item, o jsontext.Object) error {
	var in value.Reader
	if v := in.Whole("schema_version", o.Get("schema_version")); v != nil && *v > maxCapture {
		return fmt.Errorf("schema_version %d is not known; the newest known is %d", *v, maxCapture)
	}
	x.Row.TrajectoryID = in.Text("rollout_id", o.Get("rollout_id"))
	identify(x)
	m := formats.Message{Role: "assistant"}
	content := value.Content{Message: &m}
	for raw := range jsontext.Elements(in.List("output_items", o.Get("output_items"))) {
		content.Item(&in, in.Object("output_items", raw), raw)
	}
	content.Set()
	prompt := in.IDs("prompt_token_ids", o.Get("prompt_token_ids"))
	m.TokenIDs = in.IDs("generation_token_ids", o.Get("generation_token_ids"))
	m.Logprobs = in.Logprobs("generation_log_probs", o.Get("generation_log_probs"))
	call := formats.Call{Model: in.Text("model", o.Get("model")), Target: true, PromptTokens: int32(len(prompt)),
		CompletionTokens: int32(len(m.TokenIDs))}
	id, parentID := in.Text("model_call_id", o.Get("model_call_id")), in.Text("parent_call_id", o.Get("parent_call_id"))
	if in.Err != nil {
		return in.Err
	}
	parent := c.parent(parentID, prompt)
	if c.Continue(parent); parent < 0 && len(c.list) > 0 {
		m.Branch = importers.BranchHistory
	}
	m.PromptDeltaIDs, m.PrefixBreak = c.PromptDelta(prompt)
	at := c.Sampled(m, call)
	c.list = append(c.list, entry{id, at, slices.Concat(prompt, m.TokenIDs)})
	c.meta.Add("schema_version", o.Get("schema_version"))
	for f := range value.Rest(o, "rollout_id", "output_items", "prompt_token_ids", "generation_token_ids",
		"generation_log_probs", "model", "schema_version") {
		c.meta.Keep(at, f.Key, f.Raw)
	}
	return nil
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
