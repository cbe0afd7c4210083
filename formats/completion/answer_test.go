package completion

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// FuzzAnswer: no body makes the decoder panic or hang, and what it passes on
// of a valid body is valid.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a\"b","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"logprobs":{"content":[{"token":"token_id:5","logprob":-0.5,"id":5}]},"token_ids":[5],"meta_info":{"output_token_logprobs":[[-0.5,5,null]]}}],"usage":{"completion_tokens":1}}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":[{"type":"text","text":"x"}],"tool_calls":[{"index":-3}]},"finish_reason":"stop"}]}`))
	f.Add([]byte(`{"choices":[{"logprobs":{"content":[{"logprob":NaN},{}]}}]}`))
	f.Add([]byte(`{"choices":[{"index":1e9,"message":{"content":""}},{"message":null}]} `))
	f.Add([]byte(`{"token_ids":[1],"choices":[{"token_ids":[1],"logprobs":{"content":[]},"response_token_ids":[2] } , { }],"prompt_token_ids":[ ]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, see := range []View{{}, {Stream: true}, {Logprobs: true, IDs: true}} {
			a := &Answer{}
			out, err := a.Add(body, see)
			if err == nil {
				for _, c := range a.Choices {
					c.Assemble()
				}
				a.KeepTokens()
			}
			if err == nil && out != nil && json.Valid(body) && !json.Valid(out) {
				t.Errorf("%q was passed on as %q", body, out)
			}
		}
	})
}

func TestWhatTheAgentSeesKeepsItsBytes(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{ "choices" : [ {"token_ids":[1], "index":0 , "x":[ 1 ]} ], "y" : 1.0}`, `{ "choices" : [ {"index":0 , "x":[ 1 ]} ], "y" : 1.0}`},
		{`{"choices":[{"index":0,"token_ids":[1]}],"prompt_token_ids":[2]}`, `{"choices":[{"index":0}]}`},
		{`{"choices":[{"token_ids":[1],"response_token_ids":null}]}`, `{"choices":[{}]}`},
		{`{"prompt_token_ids":null,"choices":[{"index":0,"token_ids":[1],"a":1,"token_ids":[2], "prompt_token_ids":[3]}]}`, `{"choices":[{"index":0,"a":1}]}`},
		{`{"choices":[{"logprobs":{"content":[{"logprob":-1}]},"token_ids":[1]}]}`, `{"choices":[{"logprobs":null}]}`},
		{`{"choices":[{"index":0,"logprobs": null}]}`, `{"choices":[{"index":0,"logprobs": null}]}`},
	} {
		got, err := (&Answer{}).Add([]byte(c.body), View{})
		if err != nil || string(got) != c.want {
			t.Errorf("%s\nis seen as %s (%v)\nwant       %s", c.body, got, err, c.want)
		}
	}
}

// FuzzSpans: the spans of a valid value are those that encoding/json finds.
func FuzzSpans(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\\\""},null],"c":{} , "d":-1e5}`))
	f.Add([]byte(`[[],"]",true, {"x":[]} ]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !json.Valid(b) {
			for range jsontext.Members(b) {
			}
			for range jsontext.Elements(b) {
			}
			c := cursor{b: b}
			for range c.members {
				for more := c.open('['); more; more = c.more(']') {
					c.value()
				}
			}
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(b, &object) == nil && object != nil {
			got := map[string]json.RawMessage{}
			for k, v := range jsontext.Members(b) {
				got[string(k)] = v
			}
			if len(got) != len(object) {
				t.Fatalf("%q: keys %v, want %v", b, got, object)
			}
			c := cursor{b: b}
			for k := range c.members {
				if v := c.value(); string(v) != string(got[string(k)]) && len(got) == count(b) {
					t.Fatalf("%q: the cursor has %q as %q", b, k, v)
				}
			}
			if jsontext.Space(b, c.i) != len(b) {
				t.Fatalf("%q: the cursor ends at %d", b, c.i)
			}
			for k, v := range object {
				if !bytes.Equal(bytes.TrimSpace(got[k]), v) {
					t.Fatalf("%q: %q is %q, want %q", b, k, got[k], v)
				}
			}
		}
		var array []json.RawMessage
		if json.Unmarshal(b, &array) == nil {
			i := 0
			for v := range jsontext.Elements(b) {
				if i >= len(array) || !bytes.Equal(v, array[i]) {
					t.Fatalf("%q: element %d is %q", b, i, v)
				}
				i++
			}
			if i != len(array) {
				t.Fatalf("%q: %d elements, want %d", b, i, len(array))
			}
		}
	})
}

// count is how many members an object has, repeated ones counted.
func count(b []byte) (n int) {
	for range jsontext.Members(b) {
		n++
	}
	return n
}

// FuzzEvents: no stream makes the reader panic or hang, the events' bytes are
// the stream's, in order, and no matter how they arrive.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[]}\n\n: ping\n\ndata: [DONE]\n\n"))
	f.Add([]byte("event: x\r\ndata: a\r\ndata: b\r\n\r\n\n\ndata: [DONE]"))
	f.Add([]byte("data: a\r\n\ndata:b\n\n\n\ndata: c\nid: 1\n\ndata\n\n"))
	f.Add([]byte("data"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		read := func(r io.Reader) (events []Event, size int) {
			s := NewEventReader(r, func() {})
			for {
				e, err := s.Next()
				if err != nil {
					if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatal(err)
					}
					return events, size
				}
				size += len(e.raw)
				less := Event{raw: e.raw, Data: e.Data, visible: []byte("x")}
				events = append(events, Event{raw: bytes.Clone(e.raw), Data: bytes.Clone(e.Data), visible: less.AppendVisible(nil)})
			}
		}
		at, size := read(bytes.NewReader(stream))
		slowly, _ := read(iotest.OneByteReader(bytes.NewReader(stream)))
		if size > len(stream) {
			t.Errorf("%d bytes of events from %d", size, len(stream))
		}
		if !reflect.DeepEqual(at, slowly) {
			t.Errorf("events %v, but byte by byte %v", at, slowly)
		}
	})
}

func TestEventsJoinDataLines(t *testing.T) {
	s := NewEventReader(bytes.NewReader([]byte("event: x\r\ndata: a\r\ndata:b\r\n\r\n")), func() {})
	e, err := s.Next()
	if err != nil || string(e.Data) != "a\nb" {
		t.Errorf("%q %v", e.Data, err)
	}
}
