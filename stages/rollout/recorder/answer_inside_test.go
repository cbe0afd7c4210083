package recorder

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

func TestAnswersOfModels(t *testing.T) {
	for _, c := range []struct {
		asked, got string
		accept     []string
		ok         bool
		version    int64 // -1 for none
	}{
		{"run", "run", nil, true, -1},
		{"run", "", nil, true, -1},
		{"run", "run@7", nil, true, 7},
		{"run@7", "run@7", nil, true, 7},
		{"run@7", "", nil, true, 7},
		{"run@7", "run@8", nil, false, 8},
		{"run@7", "run", nil, false, -1},
		{"run", "base/model", nil, false, -1},
		{"run", "base/model", []string{"base/model"}, true, -1},
		{"run", "base/model", []string{"*"}, true, -1},
		{"gpt-4o", "gpt-4o-2024-08-06", nil, true, -1},
		{"gpt-4o", "gpt-4o-mini", nil, false, -1},
		{"run", "run2", nil, false, -1},
	} {
		v, ok := matchModel(c.asked, c.got, c.accept)
		version := int64(-1)
		if v != nil {
			version = *v
		}
		if ok != c.ok || version != c.version {
			t.Errorf("asked %q, answered by %q: %v, version %d", c.asked, c.got, ok, version)
		}
	}
}

// FuzzAnswer: no body makes the decoder panic or hang, and what it passes on
// of a valid body is valid.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a\"b","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"logprobs":{"content":[{"token":"token_id:5","logprob":-0.5,"id":5}]},"token_ids":[5],"meta_info":{"output_token_logprobs":[[-0.5,5,null]]}}],"usage":{"completion_tokens":1}}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":[{"type":"text","text":"x"}],"tool_calls":[{"index":-3}]},"finish_reason":"stop"}]}`))
	f.Add([]byte(`{"choices":[{"logprobs":{"content":[{"logprob":NaN},{}]}}]}`))
	f.Add([]byte(`{"choices":[{"index":1e9,"message":{"content":""}},{"message":null}]} `))
	f.Add([]byte(`{"token_ids":[1],"choices":[{"token_ids":[1],"logprobs":{"content":[]},"response_token_ids":[2] } , { }],"prompt_token_ids":[ ]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, see := range []view{{}, {stream: true}, {logprobs: true, ids: true}} {
			a := &answer{}
			out, err := a.add(body, see)
			if err == nil {
				for _, c := range a.choices {
					c.assemble()
				}
				a.keepTokens()
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
		got, err := (&answer{}).add([]byte(c.body), view{})
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
			for range c.members() {
				for range c.elements() {
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
			for k := range c.members() {
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
		read := func(r io.Reader) (events []event, size int) {
			s := newEventReader(r, func() {})
			for {
				e, err := s.next()
				if err != nil {
					if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatal(err)
					}
					return events, size
				}
				size += len(e.raw)
				events = append(events, event{raw: bytes.Clone(e.raw), data: bytes.Clone(e.data), visible: e.appendWith(nil, []byte("x"))})
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
	s := newEventReader(bytes.NewReader([]byte("event: x\r\ndata: a\r\ndata:b\r\n\r\n")), func() {})
	e, err := s.next()
	if err != nil || string(e.data) != "a\nb" {
		t.Errorf("%q %v", e.data, err)
	}
}
