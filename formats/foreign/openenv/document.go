package openenv

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// turn is what the sequences of a document say of a call.
type turn struct {
	tokens
	from, to int    // where its answer is in a sequence
	role     string // "" in no sequence
}

func readDocument(row *formats.Trajectory, o jsontext.Object) {
	turns := map[string]*turn{}
	each(o, "turns", func(o jsontext.Object) {
		id, from := must.Text("node_id", o.Get("node_id")), int(must.Count("n_prompt", o.Get("n_prompt")))
		if turns[id] != nil {
			must.Fail("its node_id, %q, is that of an earlier turn", id)
		}
		turns[id] = &turn{from: from, to: from + int(must.Count("n_sampled", o.Get("n_sampled")))}
	})
	n := must.Whole("stats.n_turns", must.Object("stats", o.Get("stats")).Get("n_turns"))
	if n != nil && int(*n) != len(turns) {
		must.Fail("stats.n_turns is %d, but there are %d turns", *n, len(turns))
	}
	each(o, "sequences", func(o jsontext.Object) { readSequence(o, turns) })
	s := session{Draft: importers.Draft{Source: "sequences.input_ids"}}
	trainable := jsontext.IsTrue(o.Get("trainable"))
	each(o, "turns", func(o jsontext.Object) {
		t := turns[must.Text("node_id", o.Get("node_id"))]
		if !o.Has("request_messages") || !o.Has("response_message") {
			must.Fail("it has no messages: export the session with include_messages " +
				"(GET /sessions/ID/rollout?include_messages=true)")
		}
		if t.role == "" && !jsontext.IsTrue(o.Get("discarded")) {
			must.Fail("no sequence has it, though it is not discarded")
		}
		o.Set("role", importers.Quote(t.role))
		t.logprobs, t.trains = must.Logprobs("sampled_logprobs", o.Get("sampled_logprobs")), t.trains && trainable
		s.add(o, t.tokens)
	})
	s.into(row, o, "turns", "sequences", "stats", "trainable")
}

// readSequence gives the turns of a path their tokens.
func readSequence(o jsontext.Object, turns map[string]*turn) {
	role, trains := roleOf(o), jsontext.IsTrue(o.Get("trainable"))
	ids, mask := must.IDs("input_ids", o.Get("input_ids")), must.IDs("loss_mask", o.Get("loss_mask"))
	if n := len(must.Logprobs("logprobs", o.Get("logprobs"))); len(mask) != len(ids) || n != len(ids) {
		must.Fail("%d input_ids, but %d values of loss_mask and %d logprobs", len(ids), len(mask), n)
	}
	if trains && role != roles[0] {
		must.Fail("it is trainable, but its role is %s", role)
	}
	end := 0
	must.Each("node_ids", must.List("node_ids", o.Get("node_ids")), func(raw []byte) {
		t := turns[must.Text("it", raw)]
		switch {
		case t == nil:
			must.Fail("%s is no turn of the document", importers.Brief(raw))
		case t.from < end || t.to > len(ids):
			must.Fail("the answer of %s is from %d to %d, not in %d to %d", raw, t.from, t.to, end, len(ids))
		case t.role == "":
			t.prompt, t.sampled, t.mask, t.role = ids[:t.from], ids[t.from:t.to], mask[t.from:t.to], role
		case !slices.Equal(slices.Concat(t.prompt, t.sampled), ids[:t.to]) || !slices.Equal(t.mask, mask[t.from:t.to]):
			must.Fail("%s has other tokens or another mask in an earlier sequence", raw)
		case slices.Index(roles, role) < slices.Index(roles, t.role):
			t.role = role
		}
		outside(mask, end, t.from)
		t.trains, end = t.trains || trains, t.to
	})
	outside(mask, end, len(mask))
}

// roles are those of sequences, turns and conversations. Of several the first counts.
var roles = []string{"agent", "auxiliary", "discarded"}

func roleOf(o jsontext.Object) string {
	role := must.Text("role", o.Get("role"))
	if !slices.Contains(roles, role) {
		must.Fail("role %q is not known; known are %s", role, strings.Join(roles, ", "))
	}
	return role
}

// each reads the objects of a list that a member is.
func each(o jsontext.Object, list string, read func(o jsontext.Object)) {
	must.Each(list, must.List(list, o.Get(list)), func(raw []byte) { read(must.Object("it", raw)) })
}
