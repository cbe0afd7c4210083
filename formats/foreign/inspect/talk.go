package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// talk builds the messages of a sample.
type talk struct {
	importers.Conversation
	*attachments
	meta  importers.Metadata
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

	candidates []formats.Candidate
	source     string // token_source
}

func (t *talk) read(o jsontext.Object) (err error) {
	var in value.Reader
	if t.path, err = messages("messages", o.Get("messages")); err != nil {
		return err
	}
	if t.unmarked && !slices.ContainsFunc(t.path, func(m message) bool { return m.generated() }) {
		for i := range t.path {
			if m := &t.path[i]; m.Role == "assistant" && m.Source == "" {
				m.Source = "generate"
			}
		}
	}
	data := in.Object("events_data", o.Get("events_data"))
	t.pool = in.List("events_data.messages", data.Get("messages"))
	list := in.List("events", o.Get("events"))
	output := in.Object("output", o.Get("output"))
	if in.Err != nil {
		return in.Err
	}
	if err := t.readEvents(list); err != nil {
		return err
	}
	if err := t.match(output); err != nil {
		return err
	}
	return t.build()
}

// match finds the call of each answer of the path: by the id of its message, or
// in logs without ids by its content. The sample's output is the last call of a
// log without events.
func (t *talk) match(output jsontext.Object) error {
	if output.Has("choices") {
		e, err := newEvent(jsontext.Object{{Key: "output", Raw: output.Bytes()}})
		if err != nil {
			return fmt.Errorf("output: %w", err)
		}
		e.only = true
		t.events = append(t.events, e)
	}
	t.calls = map[int]*event{}
	byID := map[string]*event{}
	for _, e := range t.events {
		if e.answer != nil && e.answer.ID != "" && byID[e.answer.ID] == nil && !e.judge {
			byID[e.answer.ID] = e
		}
	}
	next := 0 // events are in the order of the path
	for i := range t.path {
		m := &t.path[i]
		if m.Role != "assistant" || m.Source == "input" {
			continue
		}
		e := byID[m.ID]
		for k := next; e == nil && k < len(t.events); k++ {
			if c := t.events[k]; c.answer != nil && !c.judge && c.path < 0 && (c.answer.ID == "" || m.ID == "") &&
				importers.Same(&c.answer.Message, &m.Message) {
				e, next = c, k+1
			}
		}
		if e != nil && e.path < 0 {
			e.path = i
			t.calls[i] = e
		}
	}
	return nil
}

// build adds the calls in order, each after its prompt, and then the rest of the
// path.
func (t *talk) build() error {
	t.at = -1
	last := -1 // the last event of the path
	for i, e := range t.events {
		if e.path >= 0 {
			last = i
		}
	}
	for i, e := range t.events {
		var err error
		switch {
		case e.path >= 0:
			err = t.until(e.path + 1)
		case e.only || e.pending:
		case e.judge:
			t.count("scorer_model_calls")
		case e.failure != "":
			err = t.failed(e)
		case e.answer != nil:
			err = t.branch(e, last < 0 || i < last)
		}
		if err != nil {
			return fmt.Errorf("a model event: %w", err)
		}
	}
	if err := t.until(len(t.path)); err != nil {
		return fmt.Errorf("a model event: %w", err)
	}
	t.sampled = slices.ContainsFunc(t.Messages, func(m formats.Message) bool { return m.Sampled })
	if len(t.counts) > 0 {
		t.meta.Add("event_counts", countsJSON(t.counts))
	}
	return nil
}

// until adds the messages of the path before one of them. Those that a model
// generated have a call even when no event says anything of it.
func (t *talk) until(end int) error {
	for ; t.next < end; t.next++ {
		m, e := t.path[t.next], t.calls[t.next]
		t.Continue(t.at)
		switch {
		case e != nil:
			at, err := t.add(e, m, true)
			if err != nil {
				return err
			}
			t.at = at
		case m.generated():
			m.Branch = t.Again()
			t.Offer("")
			t.at = t.Sampled(m.Message, formats.Call{Target: true, Model: m.Model})
			t.keep(t.at, m.Others)
		default:
			if t.at = t.Find(&m.Message, func(known *formats.Message) bool { return !known.Sampled }); t.at < 0 {
				m.Branch = t.Diverges()
				t.at = t.Input(m.Message)
				t.keep(t.at, m.Others)
			}
		}
	}
	return nil
}

// branch adds a call that is not on the path.
func (t *talk) branch(e *event, trained bool) error {
	prompt, err := t.prompt(e)
	if err != nil {
		return err
	}
	plain := make([]formats.Message, len(prompt))
	for i := range prompt {
		plain[i] = prompt[i].Message
	}
	before := len(t.Messages)
	for i, at := range t.Walk(plain) {
		if at >= before {
			t.keep(at, prompt[i].Others)
		}
	}
	_, err = t.add(e, *e.answer, trained)
	return err
}

// add adds an answer with its call, after the message that is set.
func (t *talk) add(e *event, m message, trained bool) (at int, err error) {
	tools, err := t.resolve(e.o.Get("tools"))
	if err != nil {
		return -1, err
	}
	text, err := value.ChatTools(tools)
	if err != nil {
		return -1, err
	}
	call, err := e.call(m.Model)
	if err != nil {
		return -1, err
	}
	call.Target = trained && (t.model == "" || e.model == "" || e.model == t.model || !t.evaluated())
	t.lastError = ""
	t.Offer(text)
	m.Branch = t.Again()
	source, err := e.sampled(&m)
	if err != nil {
		return -1, err
	}
	t.source = cmp.Or(t.source, source)
	at = t.Sampled(m.Message, call)
	t.keep(at, m.Others)
	for _, c := range e.others {
		call := int32(len(t.Calls) - 1)
		c.Message, c.Call = int32(at), &call
		t.candidates = append(t.candidates, c)
	}
	return at, nil
}

// evaluated reports whether a call was to the evaluated model; an agent may
// choose its models itself.
func (t *talk) evaluated() bool {
	for _, e := range t.events {
		if e.model == t.model && !e.judge && !e.only {
			return true
		}
	}
	return false
}

// failed adds a call without an answer.
func (t *talk) failed(e *event) error {
	call, err := e.call("")
	if err != nil {
		return err
	}
	call.Target, call.Tools = t.model == "" || e.model == t.model, -1
	t.Calls = append(t.Calls, call)
	t.lastError = e.failure
	return nil
}

func (t *talk) keep(at int, others jsontext.Object) {
	for _, f := range others {
		if text := string(f.Raw); text != "{}" && text != "[]" {
			t.meta.OfMessage(at, f.Key, f.Raw)
		}
	}
}

func (t *talk) count(kind string) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[kind]++
}

func countsJSON(counts map[string]int) []byte {
	var o jsontext.Object
	for _, kind := range sortedKeys(counts) {
		o = append(o, jsontext.Member{Key: kind, Raw: []byte(strconv.Itoa(counts[kind]))})
	}
	return o.Bytes()
}
