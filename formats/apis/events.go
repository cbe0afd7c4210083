package apis

import (
	"io"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// EventEncoder writes an answer as the events of an API, in their order. What was not written before is written at the
// end: there a text, or a call's arguments, is one delta.
type EventEncoder interface {
	Begin(o jsontext.Object)        // the events before the first text; o is the answer so far
	WriteText(p completion.Segment) // more of the next text
	CloseText(p completion.Segment) // what is left of the next text, which is p
	End(o jsontext.Object)          // what is left of the answer
	Fail(kind, text string)         // the error of an answer that has begun
	State() *EventWriter
}

// EventWriter is the part that encoders share: what was written so far.
type EventWriter struct {
	to   io.Writer
	Ping string // written to an agent that hears nothing else

	Begun bool // the events before the first block were written
	Done  int  // blocks that are complete
	open  bool // the next one has begun
	Shown int  // bytes of its text that were written
}

func (w *EventWriter) State() *EventWriter { return w }

// rest returns what of a text was not yet written.
func (w *EventWriter) rest(raw []byte) []byte {
	if w.Shown == 0 {
		return raw
	}
	text := jsontext.Unquote(raw)
	return encode(text[min(w.Shown, len(text)):])
}

func (w *EventWriter) closeBlock() { w.Done, w.open, w.Shown = w.Done+1, false, 0 }

// write writes an event, whose data repeats its kind.
func (w *EventWriter) write(kind string, o jsontext.Object) {
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
