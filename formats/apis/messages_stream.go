package apis

import (
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// messagesEvents writes a message as the events of Anthropic's API.
type messagesEvents struct{ EventWriter }

func (messagesTranslator) EncodeEvents(_ *Request, w io.Writer) EventEncoder {
	return &messagesEvents{EventWriter{to: w, Ping: "event: ping\ndata: {\"type\":\"ping\"}\n\n"}}
}

func (w *messagesEvents) Begin(o jsontext.Object) {
	if w.Begun {
		return
	}
	w.Begun = true
	null := []byte("null")
	begun := o.With("content", emptyList).With("stop_reason", null).With("stop_sequence", null)
	w.write("message_start", jsontext.Object{field("message", begun.Bytes())})
	w.write("ping", nil)
}

func (w *messagesEvents) End(o jsontext.Object) {
	w.Begin(o)
	for i, raw := range slices.Collect(jsontext.Elements(o.Get("content"))) {
		if i >= w.Done {
			w.writeBlock(jsontext.ParseObject(raw))
		}
	}
	end := jsontext.Object{field("stop_reason", o.Get("stop_reason")), field("stop_sequence", o.Get("stop_sequence"))}
	w.write("message_delta", jsontext.Object{field("delta", end.Bytes()), field("usage", o.Get("usage"))})
	w.write("message_stop", nil)
}

func (w *messagesEvents) CloseText(p completion.Segment) { w.writeBlock(objectOf(blockOf(p))) }

// writeBlock writes the events of the next content block, or those that are left.
func (w *messagesEvents) writeBlock(o jsontext.Object) {
	index := field("index", encode(w.Done))
	if !w.open {
		w.beginBlock(o)
	}
	switch jsontext.Unquote(o.Get("type")) {
	case "text":
		w.delta("text_delta", "text", w.rest(o.Get("text")))
	case "thinking":
		w.delta("thinking_delta", "thinking", w.rest(o.Get("thinking")))
		w.delta("signature_delta", "signature", o.Get("signature"))
	case "tool_use":
		w.delta("input_json_delta", "partial_json", encode(string(o.Get("input"))))
	}
	w.write("content_block_stop", jsontext.Object{index})
	w.closeBlock()
}

func (w *messagesEvents) beginBlock(o jsontext.Object) {
	begun := o.With("text", emptyText).With("thinking", emptyText).With("signature", emptyText).With("input", []byte("{}"))
	w.write("content_block_start", jsontext.Object{field("index", encode(w.Done)), field("content_block", begun.Bytes())})
	w.open = true
}

func (w *messagesEvents) delta(kind, key string, v []byte) {
	if string(v) == `""` {
		return
	}
	piece := jsontext.Object{field("type", encode(kind)), field(key, v)}
	w.write("content_block_delta", jsontext.Object{field("index", encode(w.Done)), field("delta", piece.Bytes())})
}

func (w *messagesEvents) WriteText(p completion.Segment) {
	if !w.open {
		w.beginBlock(objectOf(blockOf(p)))
	}
	if p.Reasoning {
		w.delta("thinking_delta", "thinking", encode(p.Text))
	} else {
		w.delta("text_delta", "text", encode(p.Text))
	}
	w.Shown += len(p.Text)
}

func (w *messagesEvents) Fail(kind, text string) {
	w.write("error", jsontext.Object{field("error", encode(map[string]string{"type": kind, "message": text}))})
}
