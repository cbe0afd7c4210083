package harbor

import (
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

var tokenMembers = []string{"prompt_token_ids", "completion_token_ids", "logprobs"}

// turns returns the metrics of each turn in an entry of rollout_details.
func turns(entry []byte) (out []jsontext.Object) {
	o := must.Object("rollout_details", entry)
	for _, name := range tokenMembers {
		n := 0
		for v := range jsontext.Elements(must.List(name, o.Get(name))) {
			if n == len(out) {
				out = append(out, nil)
			}
			out[n].Set(name, v)
			n++
		}
		if n > 0 && (n != len(out) || len(out[0]) != len(out[n-1])) {
			must.Fail("rollout_details has %d turns in %s, and another number in another list", n, name)
		}
	}
	return out
}

// calls calls f with the metrics of each step that is one answer of the model in this document, and returns the document with
// what f added to them.
func calls(document jsontext.Object, f func(metrics *jsontext.Object)) jsontext.Object {
	var steps [][]byte
	for step := range jsontext.Elements(must.List("steps", document.Get("steps"))) {
		o := must.Object("steps", step)
		n := must.Whole("llm_call_count", o.Get("llm_call_count"))
		if jsontext.Unquote(o.Get("source")) == "agent" && !jsontext.IsTrue(o.Get("is_copied_context")) && (n == nil || *n == 1) {
			metrics := must.Object("metrics", o.Get("metrics"))
			f(&metrics)
			o.Set("metrics", metrics.Bytes())
			step = o.Bytes()
		}
		steps = append(steps, step)
	}
	return document.With("steps", value.Join(steps))
}

// addTokens gives the calls of the main agent the tokens of rollout_details, whose first entry is its own, if no step of
// the trial has token ids. If some have, both must agree.
func addTokens(r *importers.Record, main []string, docs map[string]jsontext.Object, details []byte) {
	var all, known []jsontext.Object
	own := -1 // turns of the main agent
	must.Each("rollout_details", must.List("rollout_details", details), func(v []byte) {
		if all = append(all, turns(v)...); own < 0 {
			own = len(all)
		}
		if jsontext.ParseObject(v).Has("extra") {
			r.Lose("rollout_details.extra", "no column has such values of a turn")
		}
	})
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		calls(docs[name], func(m *jsontext.Object) {
			if m.Has(tokenMembers[1]) {
				known = append(known, *m)
			}
		})
	}
	switch {
	case len(all) == 0:
	case len(known) > 0:
		compare(known, all)
	default:
		n := 0
		for _, name := range main {
			docs[name] = calls(docs[name], func(m *jsontext.Object) {
				if n++; n <= own {
					*m = append(value.Without(*m, tokenMembers...), all[n-1]...)
				}
			})
		}
		if n != own || n != len(all) {
			must.Fail("rollout_details has %d turns of the agent and %d of others, and the trajectory %d calls without token ids: "+
				"which belong together is not known", own, len(all)-own, n)
		}
	}
}

// compare refuses token ids and logprobs of steps that rollout_details has otherwise.
func compare(known, all []jsontext.Object) {
	for i, turn := range all {
		at := slices.IndexFunc(known, func(m jsontext.Object) bool {
			return !slices.ContainsFunc(turn, func(f jsontext.Member) bool {
				return m.Has(f.Key) && !jsontext.Same(string(m.Get(f.Key)), string(f.Raw))
			})
		})
		if at < 0 {
			must.Fail("no step has the token ids and logprobs of turn %d in rollout_details", i)
		}
		known = slices.Delete(known, at, at+1)
	}
	if len(known) > 0 {
		must.Fail("%d steps have token ids that no turn of rollout_details has", len(known))
	}
}
