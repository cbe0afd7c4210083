package recorder

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// FuzzRestream: no response makes the writer panic, every event of a valid one
// is valid JSON, and the last holds the response.
func FuzzRestream(f *testing.F) {
	f.Add([]byte(`{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a","logprobs":[{"logprob":-1}]}]},{"type":"function_call","name":"f","arguments":"{}"}],"input_messages":[{"tokens":[1,2]}],"output_messages":[{"tokens":[3]}]}`))
	f.Add([]byte("{\"status\":\"incomplete\",\n\"output\":[{\"type\":\"reasoning\",\r\n\"summary\":[{\"text\":7}, null],\"content\":{}}, 5, []],\"output_text\":\"a\",\"usage\":null}"))
	f.Add([]byte(`{"output":[{"type":"custom_tool_call","input":{"a":1},"id":null}],"output_messages":[{"tokens":null},{"tokens":[-1]}],"input_messages":3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, see := range []view{{}, {logprobs: true, ids: true, messages: true}} {
			a := &answer{}
			seen, err := a.addResponse(body, see)
			if err != nil {
				return
			}
			for _, c := range a.choices {
				c.done()
			}
			a.keepAll()
			var out bytes.Buffer
			(&eventWriter{to: &out}).response(jsontext.ParseObject(seen))
			s := newEvents(&out, func() {})
			n, last := 0, []byte(nil)
			for e, err := s.next(); err != io.EOF; e, err = s.next() {
				if err != nil {
					t.Fatal(err)
				}
				if n++; json.Valid(body) && !json.Valid(e.data) {
					t.Fatalf("event %d of %q is %q", n, body, e.data)
				}
				last = bytes.Clone(e.data)
			}
			if n < 3 || len(jsontext.ParseObject(jsontext.ParseObject(last).Get("response"))) != len(jsontext.ParseObject(seen)) {
				t.Errorf("%d events of %q, at last %q", n, body, last)
			}
		}
	})
}
