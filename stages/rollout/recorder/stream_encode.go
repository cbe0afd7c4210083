package recorder

import (
	"io"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// eventEncoder writes an answer as the events of an API, in their order. What was
// not written before is written at the end: there a text, or a call's arguments,
// is one delta.
type eventEncoder interface {
	begin(o jsontext.Object) // the events before the first text; o is the answer so far
	writeText(p segment)     // more of the next text
	closeText(p segment)     // what is left of the next text, which is p
	end(o jsontext.Object)   // what is left of the answer
	fail(kind, text string)  // the error of an answer that has begun
	state() *eventWriter
}

// eventWriter is the part that encoders share: what was written so far.
type eventWriter struct {
	to   io.Writer
	ping string // written to an agent that hears nothing else

	begun bool // the events before the first block were written
	done  int  // blocks that are complete
	open  bool // the next one has begun
	shown int  // bytes of its text that were written
}

func (w *eventWriter) state() *eventWriter { return w }

// rest returns what of a text was not yet written.
func (w *eventWriter) rest(raw []byte) []byte {
	if w.shown == 0 {
		return raw
	}
	text := jsontext.Unquote(raw)
	return encode(text[min(w.shown, len(text)):])
}

func (w *eventWriter) closeBlock() { w.done, w.open, w.shown = w.done+1, false, 0 }

// write writes an event, whose data repeats its kind.
func (w *eventWriter) write(kind string, o jsontext.Object) {
	io.WriteString(w.to, "event: "+kind+"\n")
	w.to.Write(dataEvent(append(jsontext.Object{field("type", encode(kind))}, o...)))
}

// dataEvent returns an object as the data of an event, which is one line.
func dataEvent(o jsontext.Object) []byte {
	data := o.Bytes()
	for i, c := range data {
		if c == '\n' || c == '\r' { // between two values: in a string it would be escaped
			data[i] = ' '
		}
	}
	return append(append([]byte("data: "), data...), "\n\n"...)
}
