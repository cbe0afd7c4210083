package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// builder builds the messages of a sample.
type builder struct {
	importers.Draft
	*attachments
	model string // the evaluated one

	path      []message      // the main path
	events    []*event       // of model calls, in order
	calls     map[int]*event // those of the answers of the path, by index
	pool      []byte         // the messages that events refer to
	pooled    []message
	counts    map[string]int // of events that are nowhere else
	at        int            // the last message of the path that was added; -1
	next      int            // the next one of the path
	unmarked  bool           // the source may not say which messages were generated: then all answers were
	sampled   bool           // a model generated something
	lastError string         // of the last call, "" when it answered
}

func (b *builder) read(o jsontext.Object) {
	b.path = messages("messages", o.Get("messages"))
	if b.unmarked && !slices.ContainsFunc(b.path, func(m message) bool { return m.generated() }) {
		for i := range b.path {
			if m := &b.path[i]; m.Role == "assistant" && m.Source == "" {
				m.Source = "generate"
			}
		}
	}
	data := must.Object("events_data", o.Get("events_data"))
	b.pool = must.List("events_data.messages", data.Get("messages"))
	list := must.List("events", o.Get("events"))
	output := must.Object("output", o.Get("output"))
	b.readEvents(list)
	b.match(output)
	b.build()
}

// match finds the call of each answer of the path: by the id of its message, or
// in logs without ids by its content. The sample's output is the last call of a
// log without events.
func (b *builder) match(output jsontext.Object) {
	if output.Has("choices") {
		e := newEvent(jsontext.Object{{Key: "output", Raw: output.Bytes()}})
		e.only = true
		b.events = append(b.events, e)
	}
	b.calls = map[int]*event{}
	byID := map[string]*event{}
	for _, e := range b.events {
		if e.answer != nil && e.answer.ID != "" && byID[e.answer.ID] == nil && !e.judge {
			byID[e.answer.ID] = e
		}
	}
	next := 0 // events are in the order of the path
	for i := range b.path {
		m := &b.path[i]
		if m.Role != "assistant" || m.Source == "input" {
			continue
		}
		e := byID[m.ID]
		for k := next; e == nil && k < len(b.events); k++ {
			if c := b.events[k]; c.answer != nil && !c.judge && c.path < 0 && (c.answer.ID == "" || m.ID == "") &&
				importers.Same(&c.answer.Message, &m.Message) {
				e, next = c, k+1
			}
		}
		if e != nil && e.path < 0 {
			e.path = i
			b.calls[i] = e
		}
	}
}

// build adds the calls in order, each after its prompt, and then the rest of the
// path.
func (b *builder) build() {
	defer must.In("a model event")
	b.at = -1
	last := -1 // the last event of the path
	for i, e := range b.events {
		if e.path >= 0 {
			last = i
		}
	}
	for i, e := range b.events {
		switch {
		case e.path >= 0:
			b.until(e.path + 1)
		case e.only || e.pending:
		case e.judge:
			b.count("scorer_model_calls")
		case e.failure != "":
			b.failed(e)
		case e.answer != nil:
			b.branch(e, last < 0 || i < last)
		}
	}
	b.until(len(b.path))
	b.sampled = slices.ContainsFunc(b.Messages, func(m formats.Message) bool { return m.Sampled })
	if len(b.counts) > 0 {
		counts, _ := json.Marshal(b.counts) // by name
		b.Meta.Add("event_counts", counts)
	}
}

// until adds the messages of the path before one of them. Those that a model
// generated have a call even when no event says anything of it.
func (b *builder) until(end int) {
	for ; b.next < end; b.next++ {
		m, e := b.path[b.next], b.calls[b.next]
		b.Continue(b.at)
		switch {
		case e != nil:
			b.at = b.add(e, m, true)
		case m.generated():
			m.Branch = b.Again()
			b.Offer("")
			b.at = b.Sampled(m.Message, formats.Call{Target: true, Model: m.Model})
			b.Meta.NonEmptyOfMessage(b.at, m.Others)
		default:
			at, added := b.Follow(m.Message, func(known *formats.Message) bool { return !known.Sampled })
			if b.at = at; added {
				b.Meta.NonEmptyOfMessage(at, m.Others)
			}
		}
	}
}

// branch adds a call that is not on the path.
func (b *builder) branch(e *event, trained bool) {
	var prompt []importers.Read
	for _, m := range b.prompt(e) {
		prompt = append(prompt, m.Read)
	}
	b.Walk(prompt, &b.Meta)
	b.add(e, *e.answer, trained)
}

// add adds an answer with its call, after the message that is set.
func (b *builder) add(e *event, m message, trained bool) (at int) {
	tools := value.Tools(b.resolve(e.o.Get("tools")))
	call := e.call(m.Model)
	call.Target = trained && (b.model == "" || e.model == "" || e.model == b.model || !b.evaluated())
	b.lastError = ""
	b.Offer(tools)
	m.Branch = b.Again()
	b.Source = cmp.Or(b.Source, readChoice(e.choice, &m))
	at = b.Sampled(m.Message, call)
	b.Meta.NonEmptyOfMessage(at, m.Others)
	for i := range e.others {
		b.Alternative(at, &e.others[i])
	}
	return at
}

// evaluated reports whether a call was to the evaluated model; an agent may
// choose its models itself.
func (b *builder) evaluated() bool {
	return slices.ContainsFunc(b.events, func(e *event) bool { return e.model == b.model && !e.judge && !e.only })
}

// failed adds a call without an answer.
func (b *builder) failed(e *event) {
	call := e.call("")
	call.Target, call.Tools = b.model == "" || e.model == b.model, -1
	b.Calls = append(b.Calls, call)
	b.lastError = e.failure
}

func (b *builder) count(kind string) {
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	b.counts[kind]++
}

// attachments are texts that a sample holds once and refers to: a string that is
// a reference stands for the attachment.
type attachments struct {
	texts map[string][]byte // JSON strings
	added int               // bytes; a few references to one text may be more than any memory holds
}

const reference = `"attachment://`

func newAttachments(v []byte) *attachments {
	a := &attachments{texts: map[string][]byte{}}
	for key, text := range jsontext.Members(v) {
		if text[0] == '"' {
			a.texts[string(key)] = text
		}
	}
	return a
}

// resolve replaces the references in a value; those to nothing stay.
func (a *attachments) resolve(v []byte) []byte {
	if len(a.texts) == 0 || !bytes.Contains(v, []byte(reference)) {
		return v
	}
	var out []byte
	from := 0
	for i := 0; i < len(v); {
		if v[i] != '"' {
			i++
			continue
		}
		end := jsontext.Skip(v, i)
		if name, is := bytes.CutPrefix(v[i:end], []byte(reference)); is {
			if text, known := a.texts[string(bytes.TrimSuffix(name, []byte{'"'}))]; known {
				if a.added += len(text); a.added > importers.MaxDocument {
					must.Fail("the attachments that it refers to are larger than a document may be")
				}
				out = append(append(out, v[from:i]...), text...)
				from = end
			}
		}
		i = end
	}
	return append(out, v[from:]...)
}
