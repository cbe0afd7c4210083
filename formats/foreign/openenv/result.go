package openenv

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// readEntries reads trace entries, which are of calls that train.
func readEntries(row *formats.Trajectory, o jsontext.Object, list []byte) {
	s := session{Draft: importers.Draft{Source: "completion_token_ids"}}
	must.Each("entries", must.List("entries", list), func(raw []byte) {
		o := must.Object("it", raw)
		response, request := must.Object("response", o.Get("response")), must.Object("request", o.Get("request"))
		choices := slices.Collect(jsontext.Elements(must.List("choices", response.Get("choices"))))
		if len(choices) != 1 {
			must.Fail("it has %d choices, not one", len(choices))
		}
		choice, about := must.Object("choices", choices[0]), must.Object("metadata", o.Get("metadata"))
		about.Set("request_messages", value.OrNull(request.Get("messages")))
		about.Set("request_tools", value.OrNull(request.Get("tools")))
		about.Set("response_message", value.OrNull(choice.Get("message")))
		about.Set("finish_reason", value.OrNull(choice.Get("finish_reason")))
		c := newCall(about)
		c.own(o, true)
		s.add(c)
	})
	s.into(row, o, "entries")
}

// readResult reads a HarborRolloutResult: the agent's calls as turns, and all of them as
// conversations.
func readResult(row *formats.Trajectory, o jsontext.Object) {
	s := session{Draft: importers.Draft{Source: "completion_token_ids"}}
	s.tree.Same = named
	trains := string(o.Get("rollout_type")) == `"train"` && !bytes.Contains(o.Get("findings"), []byte("[FATAL"))
	must.Each("turns", must.List("turns", o.Get("turns")), func(raw []byte) {
		t := must.Object("it", raw)
		t.Set("response_message", jsontext.Object{{Key: "content", Raw: value.OrNull(t.Get("text"))},
			{Key: "tool_calls", Raw: value.OrNull(t.Get("tool_calls"))}}.Bytes())
		trained := roleOf(t) == roles[0] && jsontext.IsTrue(t.Get("trainable")) && !jsontext.IsTrue(t.Get("discarded"))
		c := newCall(t)
		c.own(t, trains && trained)
		s.add(c)
	})
	must.Each("conversations", must.List("conversations", o.Get("conversations")), func(raw []byte) {
		t := must.Object("it", raw)
		role, list := roleOf(t), value.Messages("messages", t.Get("messages"))
		for at, i := -1, 0; i < len(list) && at+1 >= min(i, 1); i++ {
			at, _ = s.tree.Find(at, &list[i].Message) // which names the calls of the last answer
		}
		if n := len(list) - 1; n > 0 && role != roles[0] && list[n].Role == "assistant" {
			s.add(call{Call: formats.Call{Sampling: "{}"}, prompt: list[:n], answer: list[n]})
		}
	})
	s.into(row, o, "task_id", "turns", "conversations", "rewards", "n_turns", "n_roots", "n_trainable_tokens", "ok",
		"error")
	row.ExampleID = must.Text("task_id", o.Get("task_id"))
	setOutcome(row, o)
}

// named reports whether a message of a prompt is a known one. Turns are without the ids of
// calls, which a known answer gets from the first prompt that has it.
func named(known, m *formats.Message) bool {
	said := *known
	if len(said.ToolCalls) == len(m.ToolCalls) {
		said.ToolCalls = slices.Clone(said.ToolCalls)
		for i := range said.ToolCalls {
			if c := &said.ToolCalls[i]; c.ID == "" {
				c.ID = m.ToolCalls[i].ID
			}
		}
	}
	same := importers.Same(&said, m)
	if same {
		known.ToolCalls = said.ToolCalls
	}
	return same
}

// setOutcome sets the rewards, of which reward_key names the one that counts, and the failure.
func setOutcome(row *formats.Trajectory, o jsontext.Object) {
	row.Reward = must.Number("reward", o.Get("reward"))
	key := must.Text("reward_key", o.Get("reward_key"))
	for _, c := range must.Object("rewards", o.Get("rewards")) {
		n := formats.NamedReward{Name: c.Key, Value: must.Number("rewards."+c.Key, c.Raw)}
		if n.Value == nil {
			n.Failure = outcomes.RewardMissing
		}
		if c.Key == key {
			if n.Weight = 1; n.Value != nil && (row.Reward == nil || *row.Reward != *n.Value) {
				must.Fail("reward is %s, but rewards.%s, which reward_key names, is %s", o.Get("reward"), key, c.Raw)
			}
		}
		row.Rewards = append(row.Rewards, n)
	}
	if kind := must.Text("exception_type", o.Get("exception_type")); !jsontext.IsTrue(o.Get("ok")) {
		importers.Fail(row, outcomes.FailInternal, strings.Trim(kind+": "+must.Text("error", o.Get("error")), ": "))
		if strings.Contains(kind, "Timeout") {
			row.FailureClass = outcomes.FailTimeout
		}
	}
}
