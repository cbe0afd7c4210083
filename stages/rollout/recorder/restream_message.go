package recorder

import "github.com/rollmill/rollmill/formats/jsonscan"

// message writes the events of a message of Anthropic's API.
func (w *eventWriter) message(o jsonscan.Object) {
	null := []byte("null")
	begun := o.With("content", emptyList).With("stop_reason", null).With("stop_sequence", null)
	w.write("message_start", jsonscan.Object{field("message", begun.Bytes())})
	w.write("ping", nil)
	i := 0
	for raw := range jsonscan.Elements(o.Get("content")) {
		w.block(field("index", encode(i)), jsonscan.ParseObject(raw))
		i++
	}
	end := jsonscan.Object{field("stop_reason", o.Get("stop_reason")), field("stop_sequence", o.Get("stop_sequence"))}
	w.write("message_delta", jsonscan.Object{field("delta", end.Bytes()), field("usage", o.Get("usage"))})
	w.write("message_stop", nil)
}

// block writes the events of one content block.
func (w *eventWriter) block(index jsonscan.Member, o jsonscan.Object) {
	begun := o.With("text", emptyText).With("thinking", emptyText).With("signature", emptyText).With("input", []byte("{}"))
	w.write("content_block_start", jsonscan.Object{index, field("content_block", begun.Bytes())})
	delta := func(kind, key string, v []byte) {
		piece := jsonscan.Object{field("type", encode(kind)), field(key, v)}
		w.write("content_block_delta", jsonscan.Object{index, field("delta", piece.Bytes())})
	}
	switch jsonscan.Unquote(o.Get("type")) {
	case "text":
		delta("text_delta", "text", o.Get("text"))
	case "thinking":
		delta("thinking_delta", "thinking", o.Get("thinking"))
		delta("signature_delta", "signature", o.Get("signature"))
	case "tool_use":
		delta("input_json_delta", "partial_json", encode(string(o.Get("input"))))
	}
	w.write("content_block_stop", jsonscan.Object{index})
}
