package openenv

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/atif"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readEntries reads trace entries, which are of calls that train.
func readEntries(row *formats.Trajectory, o jsontext.Object) {
	s := session{Draft: importers.Draft{Source: "completion_token_ids"}}
	each(o, "entries", func(o jsontext.Object) {
		response, request := must.Object("response", o.Get("response")), must.Object("request", o.Get("request"))
		choices := slices.Collect(jsontext.Elements(must.List("choices", response.Get("choices"))))
		if len(choices) != 1 {
			must.Fail("it has %d choices, not one", len(choices))
		}
		choice, about := must.Object("choices", choices[0]), must.Object("metadata", o.Get("metadata"))
		about.Set("request_messages", request.Get("messages"))
		about.Set("request_tools", request.Get("tools"))
		about.Set("response_message", choice.Get("message"))
		about.Set("finish_reason", choice.Get("finish_reason"))
		s.add(about, own(o, true))
	})
	s.into(row, o, "entries")
}

// readResult reads a HarborRolloutResult: the agent's calls as turns, and all of them as
// conversations.
func readResult(row *formats.Trajectory, o jsontext.Object) {
	s := session{Draft: importers.Draft{Source: "completion_token_ids"}}
	s.tree.Same = named
	trains := string(o.Get("rollout_type")) == `"train"` && !bytes.Contains(o.Get("findings"), []byte("[FATAL"))
	each(o, "turns", func(t jsontext.Object) {
		t.Set("response_message", jsontext.Object{{Key: "content", Raw: value.OrNull(t.Get("text"))},
			{Key: "tool_calls", Raw: value.OrNull(t.Get("tool_calls"))}}.Bytes())
		trained := roleOf(t) == roles[0] && jsontext.IsTrue(t.Get("trainable")) && !jsontext.IsTrue(t.Get("discarded"))
		s.add(t, own(t, trains && trained))
	})
	each(o, "conversations", func(t jsontext.Object) {
		all := slices.Collect(jsontext.Elements(must.List("messages", t.Get("messages"))))
		n := len(all) - 1
		if roleOf(t) != roles[0] && n > 0 && string(jsontext.ParseObject(all[n]).Get("role")) == `"assistant"` {
			s.add(jsontext.Object{{Key: "request_messages", Raw: value.Join(all[:n])},
				{Key: "response_message", Raw: all[n]}}, tokens{})
		} else {
			s.walk("", value.Messages("messages", t.Get("messages"))) // it names the calls of the last answer
		}
	})
	s.into(row, o, "task_id", "turns", "conversations", "rewards", "n_turns", "n_roots", "n_trainable_tokens", "ok",
		"error")
	row.ExampleID = must.Text("task_id", o.Get("task_id"))
	setOutcome(row, o)
}

// own reads the tokens of a call that has them itself. Where nothing trains, zeros for all
// logprobs are the recorder's filling.
func own(o jsontext.Object, trains bool) tokens {
	t := tokens{trains: trains, mask: must.IDs("loss_mask", o.Get("loss_mask"))}
	t.prompt = must.IDs("prompt_token_ids", o.Get("prompt_token_ids"))
	t.sampled = must.IDs("completion_token_ids", o.Get("completion_token_ids"))
	t.logprobs = must.Logprobs("per_token_logps", o.Get("per_token_logps"))
	if n, s := len(t.prompt), len(t.sampled); t.mask != nil {
		if len(t.mask) != n+s {
			must.Fail("%d prompt_token_ids and %d completion_token_ids, but loss_mask has %d values", n, s, len(t.mask))
		}
		outside(t.mask, 0, n)
		t.mask = t.mask[n:]
	}
	if !t.trained() && !slices.ContainsFunc(t.logprobs, func(p float32) bool { return p != 0 }) {
		t.logprobs = nil
	}
	return t
}

// named reports whether a message of a prompt is a known one. Turns are without reasoning and
// the ids of calls, which a known answer gets from the first prompt that has them.
func named(known, m *formats.Message) bool {
	said := *known
	said.ToolCalls, said.Reasoning = slices.Clone(known.ToolCalls), cmp.Or(known.Reasoning, m.Reasoning)
	for i := range min(len(said.ToolCalls), len(m.ToolCalls)) {
		said.ToolCalls[i].ID = cmp.Or(said.ToolCalls[i].ID, m.ToolCalls[i].ID)
	}
	if !importers.Same(&said, m) {
		return false
	}
	known.ToolCalls, known.Reasoning = said.ToolCalls, said.Reasoning
	return true
}

// setOutcome sets the rewards, of which reward_key names the one that counts, and the failure.
func setOutcome(row *formats.Trajectory, o jsontext.Object) {
	atif.Rewards(row, "rewards.", must.Object("rewards", o.Get("rewards")))
	row.Reward = must.Number("reward", o.Get("reward"))
	key := must.Text("reward_key", o.Get("reward_key"))
	for i := range row.Rewards {
		c := &row.Rewards[i]
		if c.Weight = 0; c.Name == key {
			if c.Weight = 1; c.Value != nil && (row.Reward == nil || *row.Reward != *c.Value) {
				must.Fail("reward is %s, but rewards.%s, which reward_key names, is %v", o.Get("reward"), key, *c.Value)
			}
		}
	}
	if kind := must.Text("exception_type", o.Get("exception_type")); !jsontext.IsTrue(o.Get("ok")) {
		importers.Fail(row, outcomes.FailInternal, strings.Trim(kind+": "+must.Text("error", o.Get("error")), ": "))
		if strings.Contains(kind, "Timeout") {
			row.FailureClass = outcomes.FailTimeout
		}
	}
}
