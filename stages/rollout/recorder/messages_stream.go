package recorder

import "github.com/rollmill/rollmill/formats/jsontext"

// beginMessage writes the events before the first block.
func (w *eventWriter) beginMessage(o jsontext.Object) {
	if w.begun {
		return
	}
	w.begun = true
	null := []byte("null")
	begun := o.With("content", emptyList).With("stop_reason", null).With("stop_sequence", null)
	w.write("message_start", jsontext.Object{field("message", begun.Bytes())})
	w.write("ping", nil)
}

// message writes the events of a message of Anthropic's API.
func (w *eventWriter) message(o jsontext.Object) {
	w.beginMessage(o)
	i := 0
	for raw := range jsontext.Elements(o.Get("content")) {
		if i >= w.done {
			w.block(jsontext.ParseObject(raw))
		}
		i++
	}
	end := jsontext.Object{field("stop_reason", o.Get("stop_reason")), field("stop_sequence", o.Get("stop_sequence"))}
	w.write("message_delta", jsontext.Object{field("delta", end.Bytes()), field("usage", o.Get("usage"))})
	w.write("message_stop", nil)
}

// block writes the events of the next content block, or those that are left.
func (w *eventWriter) block(o jsontext.Object) {
	index := field("index", encode(w.done))
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
	w.close()
}

func (w *eventWriter) beginBlock(o jsontext.Object) {
	begun := o.With("text", emptyText).With("thinking", emptyText).With("signature", emptyText).With("input", []byte("{}"))
	w.write("content_block_start", jsontext.Object{field("index", encode(w.done)), field("content_block", begun.Bytes())})
	w.open = true
}

// delta writes a piece of the open block.
func (w *eventWriter) delta(kind, key string, v []byte) {
	if string(v) == `""` {
		return
	}
	piece := jsontext.Object{field("type", encode(kind)), field(key, v)}
	w.write("content_block_delta", jsontext.Object{field("index", encode(w.done)), field("delta", piece.Bytes())})
}

// messagePiece writes a piece of the text of a block. If it is the first, o is
// the block.
func (w *eventWriter) messagePiece(p piece, o jsontext.Object) {
	if !w.open {
		w.beginBlock(o)
	}
	if p.reasoning {
		w.delta("thinking_delta", "thinking", encode(p.text))
	} else {
		w.delta("text_delta", "text", encode(p.text))
	}
	w.shown += len(p.text)
}

// messageFailed writes the error of a message that has begun.
func (w *eventWriter) messageFailed(_ *request, kind, text string) {
	w.write("error", jsontext.Object{field("error", encode(map[string]string{"type": kind, "message": text}))})
}
