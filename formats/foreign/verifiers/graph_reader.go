package verifiers

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/training"
)

// graphReader builds the messages of a trace: message i is node i.
type graphReader struct {
	importers.Draft
	record     *importers.Record
	agent      jsontext.Object
	target     bool
	version    *int64
	nodes      []knownNode
	calls      map[int64]jsontext.Object // by node
	tools      string                    // of the trace: those of its last call
	advantages []training.MessageAdvantage
	losses     []training.MessageLoss
}

// knownNode is what its descendants need to know of a node.
type knownNode struct {
	tokens  []int32 // of an input all it adds; of an answer what follows the sampled ones
	sampled bool
	known   bool   // an answer whose tokens are known
	tools   string // on offer from here on; "" for those of the parent
	child   bool   // it has a continuation
}

func (g *graphReader) read(o jsontext.Object) {
	g.tools = value.Tools(o.Get("tools"))
	g.calls = map[int64]jsontext.Object{}
	var failed []jsontext.Object
	for raw := range jsontext.Elements(must.List("calls", o.Get("calls"))) {
		c := must.Object("calls", raw)
		if at := must.Whole("calls.node", c.Get("node")); at != nil {
			g.calls[*at] = c
		} else {
			failed = append(failed, c)
		}
	}
	nodes := must.List("nodes", o.Get("nodes"))
	must.Each("nodes", nodes, g.node)
	g.unused()
	for _, c := range failed {
		call := g.call(c)
		call.Tools = -1
		g.Calls = append(g.Calls, call)
	}
}

func (g *graphReader) node(raw []byte) {
	at := len(g.nodes)
	o := must.Object("node", raw)
	parent := int64(-1)
	if p := must.Whole("parent", o.Get("parent")); p != nil {
		parent = *p
	}
	n := knownNode{sampled: jsontext.IsTrue(o.Get("sampled"))}
	ids := must.IDs("token_ids", o.Get("token_ids"))
	logprobs := must.Logprobs("logprobs", o.Get("logprobs"))
	if parent < -1 || parent >= int64(at) {
		must.Fail("parent %d does not come before it", parent)
	}
	m, rest := value.Message(o.Get("message"))
	g.Meta.KeepRest(at, rest)
	n.tools = value.Tools(o.Get("tools"))
	m.Branch = g.branch(parent, n.sampled)
	g.nodes = append(g.nodes, n)
	g.Continue(int(parent))
	if !n.sampled {
		g.nodes[at].tokens = ids
		g.Input(m)
	} else {
		g.answer(at, int(parent), m, o, ids, logprobs)
		g.credit(at, &o)
	}
	for f := range value.Rest(o, "parent", "message", "sampled", "token_ids", "mask", "logprobs", "tools") {
		g.keep(at, f.Key, f.Raw)
	}
}

// credit reads the advantages and the weights in the losses of an answer, which the node's
// consumer gave it, and takes them out of its members. Weights that are not one for all
// of its tokens have no column: they stay members, and so block what they would falsify.
func (g *graphReader) credit(at int, o *jsontext.Object) {
	n := len(g.Messages[at].TokenIDs)
	if list := must.Logprobs("advantages", o.Get("advantages")); n > 0 && len(list) == n {
		a := training.MessageAdvantage{Message: int32(at), Tokens: list}
		for _, v := range list {
			a.Value += float64(v) / float64(n)
		}
		g.advantages = append(g.advantages, a)
		o.Drop("advantages")
	}
	reference, mask := must.Logprobs("reference_logprobs", o.Get("reference_logprobs")), slices.Collect(jsontext.Elements(o.Get("mask")))
	var losses []training.MessageLoss
	for name, raw := range jsontext.Members(must.Object("loss_weights", o.Get("loss_weights")).Bytes()) {
		l := training.MessageLoss{Message: int32(at), Loss: string(name)}
		for k, w := range must.Logprobs("loss_weights", raw) {
			switch {
			case k >= len(mask) || string(mask[k]) != "true":
			case l.Weight != 0 && l.Weight != float64(w) || w == 0:
				return
			default:
				l.Weight = float64(w)
			}
		}
		if l.Loss == training.LossRefKL {
			l.Reference = reference
		}
		if l.Weight == 0 || !slices.Contains(training.Losses, l.Loss) || l.Loss == training.LossRefKL && len(reference) != n {
			return
		}
		losses = append(losses, l)
	}
	if len(losses) > 0 {
		g.losses = append(g.losses, losses...)
		o.Drop("loss_weights")
	}
}

func (g *graphReader) keep(at int, key string, v []byte) {
	if string(v) != "[]" {
		g.Meta.Keep(at, key, v)
	}
}

func (g *graphReader) branch(parent int64, sampled bool) string {
	switch {
	case parent < 0 && len(g.nodes) > 0:
		return importers.BranchSubagent
	case parent < 0:
		return ""
	}
	was := g.nodes[parent].child
	g.nodes[parent].child = true
	switch {
	case !was:
		return ""
	case sampled:
		return importers.BranchRetry
	}
	return importers.BranchHistory
}

// answer adds an answer with its call and its tokens.
func (g *graphReader) answer(at, parent int, m formats.Message, o jsontext.Object, ids []int32, logprobs []float32) {
	c := g.calls[int64(at)]
	call := g.call(c)
	m.FinishReason = jsontext.Unquote(c.Get("finish_reason"))
	if len(ids) > 0 {
		g.tokens(at, parent, &m, ids, o.Get("mask"))
	}
	m.Logprobs = logprobs
	if len(logprobs) == 0 {
		m.Logprobs = nil
	}
	g.Offer(g.toolsAt(at, parent))
	g.Sampled(m, call)
	for _, key := range []string{"usage", "policy", "error"} {
		g.keep(at, "call_"+key, c.Get(key))
	}
}

func (g *graphReader) toolsAt(at, parent int) string {
	tools := g.nodes[at].tools
	for i := parent; i >= 0 && tools == ""; i = int(g.Messages[i].Parent) {
		tools = g.nodes[i].tools
	}
	return cmp.Or(tools, g.tools)
}

// tokens sets the tokens of an answer: those that its mask marks, which are
// adjacent; before them is the end of its prompt.
func (g *graphReader) tokens(at, parent int, m *formats.Message, ids []int32, mask []byte) {
	first, last, n := -1, -1, 0
	for v := range jsontext.Elements(mask) {
		if jsontext.IsTrue(v) || string(v) == "1" {
			if last >= 0 && last != n-1 {
				g.record.Lose("nodes.mask", "sampled tokens with others between them")
				return
			}
			if last = n; first < 0 {
				first = n
			}
		}
		n++
	}
	if n != len(ids) {
		must.Fail("%d values of mask for %d token_ids", n, len(ids))
	}
	if first < 0 {
		g.nodes[at].tokens = ids
		return
	}
	if delta, known := g.delta(parent); known {
		m.PromptDeltaIDs = append(delta, ids[:first]...)
	}
	m.TokenIDs = ids[first : last+1]
	g.nodes[at].tokens, g.nodes[at].known = ids[last+1:], true
	g.Source = "nodes.token_ids"
}

// delta returns the tokens after the nearest answer with tokens among a node and
// its ancestors. known is false when an answer without tokens comes first.
func (g *graphReader) delta(from int) (delta []int32, known bool) {
	var pieces [][]int32
	known = true
	for i := from; i >= 0; i = int(g.Messages[i].Parent) {
		pieces = append(pieces, g.nodes[i].tokens)
		if g.nodes[i].sampled {
			known = g.nodes[i].known
			if known {
				break
			}
		}
	}
	delta = []int32{}
	for i := len(pieces) - 1; i >= 0; i-- {
		delta = append(delta, pieces[i]...)
	}
	return delta, known
}

// unused keeps the tokens after which no answer came.
func (g *graphReader) unused() {
	for i := range g.nodes {
		if n := &g.nodes[i]; len(n.tokens) > 0 && !n.child {
			ids, _ := json.Marshal(n.tokens)
			g.Meta.OfMessage(i, "token_ids", ids)
		}
	}
}

// call reads a call of the model; nil for one that was not recorded.
func (g *graphReader) call(o jsontext.Object) formats.Call {
	call := formats.Call{Target: g.target, PolicyVersion: g.version, Model: must.Text("calls.model", o.Get("model")),
		Endpoint: must.Text("calls.endpoint", o.Get("endpoint"))}
	config := must.Object("agent.config", g.agent.Get("config"))
	call.Model = cmp.Or(call.Model, jsontext.Unquote(config.Get("model")))
	call.Sampling = jsontext.Compact(value.Without(must.Object("calls.sampling", o.Get("sampling"))).Bytes())
	u := must.Object("calls.usage", o.Get("usage"))
	call.CachedTokens = must.Count("usage.cached_input_tokens", u.Get("cached_input_tokens"))
	// the former is without the latter
	call.PromptTokens = must.Count("usage.prompt_tokens", u.Get("prompt_tokens")) + call.CachedTokens
	call.CompletionTokens = must.Count("usage.completion_tokens", u.Get("completion_tokens"))
	span := must.Object("calls.time", o.Get("time"))
	if began, ended := value.Micros(span.Get("start")), value.Micros(span.Get("end")); began > 0 && ended > began {
		call.LatencyMS = (ended - began) / 1000
	}
	if e := must.Object("calls.error", o.Get("error")); e != nil {
		call.Error = must.Text("error.type", e.Get("type")) + ": " + must.Text("error.message", e.Get("message"))
	}
	return call
}
