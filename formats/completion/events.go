package completion

import "bytes"

// Event is one server-sent event: its bytes with the blank line, and its data. It is valid until the next one is read.
type Event struct {
	raw     []byte
	Data    []byte // nil for a comment
	read    bool   // already part of the answer
	visible []byte // the data that the agent sees, once it was read; nil: it sees nothing of the event
}

// Last reports whether the event ends the stream.
func (e *Event) Last() bool { return string(e.Data) == "[DONE]" }

func (e *Event) AddTo(a *Answer, see View) error {
	if e.read {
		return nil
	}
	e.read, e.visible = true, e.Data
	a.ended = e.Last() && a.AcceptNoFinish
	if e.Data == nil || e.Last() {
		return nil
	}
	seen, err := a.Add(e.Data, see)
	e.visible = seen
	return err
}

// AppendVisible appends what the agent sees of an event that was read: its data may be less, and its other lines are
// unchanged.
func (e *Event) AppendVisible(out []byte) []byte {
	switch {
	case e.Data == nil, len(e.visible) == len(e.Data) && &e.visible[0] == &e.Data[0]:
		return append(out, e.raw...)
	case e.visible == nil:
		return out
	}
	for line := range bytes.Lines(e.raw) {
		if !bytes.HasPrefix(line, dataField) && len(bytes.TrimSpace(line)) > 0 {
			out = append(out, line...)
		}
	}
	return append(append(append(out, "data: "...), e.visible...), "\n\n"...)
}

var dataField = []byte("data:")
