package gateway

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// received is what came back from an engine.
type received struct {
	api    *apis.API // whose form it has; nil: of an error that several have
	data   [][]byte  // a whole body, or what the events of a stream have; nil for nothing
	stream bool
}

// receive reads a response: a body, a text of one or of an event stream, or the list of a stream's chunks, each an object
// or a piece of that text.
func receive(field string, v []byte) (r received) {
	switch {
	case len(v) == 0 || slices.Contains([]string{"null", `""`, "{}"}, jsontext.Compact(v)):
		return r
	case v[0] == '"':
		text := strings.TrimSpace(jsontext.Unquote(v))
		if r.data = [][]byte{[]byte(text)}; text == "" || text[0] != '{' || !jsontext.Valid(r.data[0]) {
			r.data, r.stream = events(field, text), true
		}
	case v[0] == '[':
		text := ""
		must.Each(field, v, func(chunk []byte) {
			if chunk[0] == '"' { // a piece of an event stream, as it was sent
				text += jsontext.Unquote(chunk)
				return
			}
			must.Object("a chunk", chunk)
			r.data = append(r.data, chunk)
		})
		if r.stream = true; text != "" {
			r.data = append(r.data, events(field, text)...)
		}
	default:
		must.Object(field, v)
		r.data = [][]byte{v}
	}
	if len(r.data) == 0 {
		return received{}
	}
	first := jsontext.ParseObject(r.data[0])
	if r.api = apis.AnswerOf(first); r.api == nil && !first.Has("error") {
		must.Fail("%s is %s, not an answer of a known API", field, importers.Brief(r.data[0]))
	}
	return r
}

// events returns the data of an event stream, which may be cut short.
func events(field, text string) (data [][]byte) {
	all := completion.NewEventReader(strings.NewReader(text+"\n\n"), nil)
	for {
		e, err := all.Next()
		switch {
		case errors.Is(err, io.EOF):
			if data == nil {
				must.Fail("%s is the text %s, neither JSON nor an event stream", field, importers.Brief([]byte(text)))
			}
			return data
		case err != nil:
			must.Fail("%s: %v", field, err)
		case e.Data != nil && (e.Last() || jsontext.Valid(e.Data)): // the last one may be half an event
			data = append(data, bytes.Clone(e.Data))
		}
	}
}

// failure returns the error that a body is in place of an answer; "" for none.
func (r *received) failure() string {
	if len(r.data) == 1 && !r.stream && jsontext.ParseObject(r.data[0]).Has("error") {
		return completion.ErrorText(r.data[0])
	}
	return ""
}
