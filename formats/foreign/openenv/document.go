package openenv

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// turn is a call of a document. Its tokens are in the sequences that hold it.
type turn struct {
	call
	from, to  int     // where its answer is in a sequence
	role      string  // "" in no sequence
	trains    bool    // by a sequence
	all, mask []int32 // all up to the end of its answer, and the answer's mask
	o         jsontext.Object
}

// turns are those of a document by their ids.
type turns map[string]*turn

func readDocument(row *formats.Trajectory, o jsontext.Object) {
	byID, list := turns{}, []*turn(nil)
	must.Each("turns", must.List("turns", o.Get("turns")), func(raw []byte) {
		o := must.Object("it", raw)
		if !o.Has("request_messages") || !o.Has("response_message") {
			must.Fail("it has no messages: export the session with include_messages " +
				"(GET /sessions/ID/rollout?include_messages=true)")
		}
		t := &turn{call: newCall(o), from: int(must.Count("n_prompt", o.Get("n_prompt"))), o: o}
		t.to = t.from + int(must.Count("n_sampled", o.Get("n_sampled")))
		id := must.Text("node_id", o.Get("node_id"))
		if byID[id] != nil {
			must.Fail("its node_id, %q, is that of an earlier turn", id)
		}
		byID[id], list = t, append(list, t)
	})
	n := must.Whole("stats.n_turns", must.Object("stats", o.Get("stats")).Get("n_turns"))
	if n != nil && int(*n) != len(list) {
		must.Fail("stats.n_turns is %d, but there are %d turns", *n, len(list))
	}
	must.Each("sequences", must.List("sequences", o.Get("sequences")), byID.sequence)
	s := session{Draft: importers.Draft{Source: "sequences.input_ids"}}
	for i, t := range list {
		t.finish(i, jsontext.IsTrue(o.Get("trainable")))
		s.add(t.call)
	}
	s.into(row, o, "turns", "sequences", "stats", "trainable")
}

// sequence gives the turns of a path their tokens.
func (byID turns) sequence(raw []byte) {
	o := must.Object("it", raw)
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
		t := byID[must.Text("it", raw)]
		switch {
		case t == nil:
			must.Fail("%s is no turn of the document", importers.Brief(raw))
		case t.from < end || t.to > len(ids):
			must.Fail("the answer of %s is from %d to %d, not in %d to %d", raw, t.from, t.to, end, len(ids))
		case t.role != "" && (!slices.Equal(t.all, ids[:t.to]) || !slices.Equal(t.mask, mask[t.from:t.to])):
			must.Fail("%s has other tokens or another mask in an earlier sequence", raw)
		case t.role == "" || slices.Index(roles, role) < slices.Index(roles, t.role):
			t.role = role
		}
		outside(mask, end, t.from)
		t.all, t.mask, t.trains, end = ids[:t.to], mask[t.from:t.to], t.trains || trains, t.to
	})
	outside(mask, end, len(mask))
}

// finish sets the tokens of the n-th turn, when all sequences are read.
func (t *turn) finish(n int, trainable bool) {
	defer must.At("turns[%d]", n)
	if t.role == "" && !jsontext.IsTrue(t.o.Get("discarded")) {
		must.Fail("no sequence has it, though it is not discarded")
	}
	t.rest.Set("role", importers.Quote(t.role))
	from, logprobs := min(t.from, len(t.all)), must.Logprobs("sampled_logprobs", t.o.Get("sampled_logprobs"))
	t.set(t.all[:from], t.all[from:], t.mask, logprobs, t.trains && trainable)
}
