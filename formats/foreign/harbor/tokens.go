package harbor

import (
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// turn is the tokens of a call; what is nil is not known.
type turn struct {
	prompt, ids []int32
	logprobs    []float32
	raw         jsontext.Object // as metrics of a step have them
	used        bool
}

var tokenMembers = [...]string{"prompt_token_ids", "completion_token_ids", "logprobs"}

func turnOf(field string, metrics jsontext.Object) (t turn) {
	for _, name := range tokenMembers {
		if metrics.Has(name) {
			t.raw.Set(name, metrics.Get(name))
		}
	}
	t.prompt, t.ids = must.IDs(field+tokenMembers[0], t.raw.Get(tokenMembers[0])), must.IDs(field+tokenMembers[1], t.raw.Get(tokenMembers[1]))
	t.logprobs = must.Logprobs(field+tokenMembers[2], t.raw.Get(tokenMembers[2]))
	return t
}

// agrees reports whether two turns say the same where both say something.
func (t *turn) agrees(u *turn) bool {
	return slices.Equal(t.ids, u.ids) && (t.prompt == nil || u.prompt == nil || slices.Equal(t.prompt, u.prompt)) &&
		(t.logprobs == nil || u.logprobs == nil || slices.Equal(t.logprobs, u.logprobs))
}

// details returns the turns of an entry of rollout_details.
func details(v []byte) (out []turn) {
	o, lists := must.Object("rollout_details", v), map[string][][]byte{}
	n := 0
	for _, name := range tokenMembers {
		for e := range jsontext.Elements(must.List(name, o.Get(name))) {
			lists[name] = append(lists[name], e)
		}
		if m := len(lists[name]); m > 0 && n > 0 && m != n {
			must.Fail("rollout_details has %d turns in %s, and %d in another list", m, name, n)
		}
		n = max(n, len(lists[name]))
	}
	for i := range n {
		var metrics jsontext.Object
		for name, list := range lists {
			if len(list) > 0 {
				metrics.Set(name, list[i])
			}
		}
		out = append(out, turnOf("rollout_details.", metrics))
	}
	return out
}

// isCall reports whether a step is one answer of the model in this trajectory.
func isCall(step jsontext.Object) bool {
	n := must.Whole("llm_call_count", step.Get("llm_call_count"))
	return jsontext.Unquote(step.Get("source")) == "agent" && !jsontext.IsTrue(step.Get("is_copied_context")) && (n == nil || *n == 1)
}

// addTokens gives the calls of the main agent the tokens of rollout_details if no step of the trial has any. If some
// have, both must agree.
func addTokens(r *importers.Record, main []jsontext.Object, docs map[string]jsontext.Object, result jsontext.Object) {
	var listed [][]turn
	all := must.Object("agent_result", result.Get("agent_result"))
	must.Each("agent_result.rollout_details", must.List("agent_result.rollout_details", all.Get("rollout_details")), func(v []byte) {
		listed = append(listed, details(v))
	})
	if !slices.ContainsFunc(listed, func(turns []turn) bool { return len(turns) > 0 }) {
		return
	}
	var known []turn
	for _, name := range sorted(docs) {
		for step := range jsontext.Elements(must.List(name, docs[name].Get("steps"))) {
			o := must.Object("steps", step)
			if t := turnOf("metrics.", must.Object("metrics", o.Get("metrics"))); isCall(o) && t.ids != nil {
				known = append(known, t)
			}
		}
	}
	if len(known) > 0 {
		compare(r, known, listed)
		return
	}
	calls := 0
	for _, d := range main {
		calls += countCalls(d)
	}
	if n := len(listed[0]); n != calls {
		must.Fail("rollout_details has %d turns of the agent, and its trajectory %d calls without token ids: which belong together is not known", n, calls)
	}
	at := 0
	for i := range main {
		main[i] = withTokens(main[i], listed[0], &at)
	}
	for _, turns := range listed[1:] {
		if len(turns) > 0 {
			r.Lose("agent_result.rollout_details", "nothing says which trajectory further entries belong to")
		}
	}
}

func countCalls(d jsontext.Object) (n int) {
	for step := range jsontext.Elements(must.List("steps", d.Get("steps"))) {
		if isCall(must.Object("steps", step)) {
			n++
		}
	}
	return n
}

// withTokens returns a document whose calls have the tokens of the turns from at on.
func withTokens(d jsontext.Object, turns []turn, at *int) jsontext.Object {
	var steps [][]byte
	for step := range jsontext.Elements(d.Get("steps")) {
		if o := jsontext.ParseObject(step); isCall(o) {
			metrics := must.Object("metrics", o.Get("metrics"))
			for _, m := range turns[*at].raw {
				metrics.Set(m.Key, m.Raw)
			}
			o.Set("metrics", metrics.Bytes())
			step = o.Bytes()
			*at++
		}
		steps = append(steps, step)
	}
	d.Set("steps", value.Join(steps))
	return d
}

// withoutTokens returns a result without the token ids and logprobs that columns have.
func withoutTokens(result jsontext.Object) jsontext.Object {
	agent := must.Object("agent_result", result.Get("agent_result"))
	var rest [][]byte
	more := false
	for v := range jsontext.Elements(agent.Get("rollout_details")) {
		o := value.Without(jsontext.ParseObject(v), tokenMembers[:]...)
		more = more || len(o) > 0
		rest = append(rest, o.Bytes())
	}
	if agent.Drop("rollout_details"); more {
		agent.Set("rollout_details", value.Join(rest))
	}
	return result.With("agent_result", value.OrNull(agent.Bytes()))
}

// compare refuses token ids of steps that rollout_details has otherwise.
func compare(r *importers.Record, known []turn, listed [][]turn) {
	for _, turns := range listed {
		for i := range turns {
			at := slices.IndexFunc(known, func(t turn) bool { return !t.used && t.agrees(&turns[i]) })
			if at >= 0 {
				known[at].used = true
			} else if slices.ContainsFunc(known, func(t turn) bool { return slices.Equal(t.ids, turns[i].ids) }) {
				must.Fail("the prompt's ids or the logprobs of turn %d in rollout_details are not those of the step with its completion_token_ids", i)
			} else {
				r.Lose("agent_result.rollout_details", "no step has the token ids of a turn")
			}
		}
	}
	for i := range known {
		if !known[i].used {
			must.Fail("no turn of rollout_details has the completion_token_ids of the call %d of those with token ids", i)
		}
	}
}
