package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// FuzzMessages: no request or answer makes the conversion panic; what it makes of
// valid JSON is valid, and a conversation that comes back is the one recorded.
func FuzzMessages(f *testing.F) {
	given := `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning":"b","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"x\": 1}"}}]},"finish_reason":"stop","stop_reason":"X"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`
	f.Add([]byte(`{"system":[{"type":"text","text":"s"}],"tools":[{"name":"f","input_schema":{}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"u"}}]},{"role":"system","content":"n"}]}`), []byte(given))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"base64"}}]},{"type":"thinking"}]}],"tool_choice":{"type":"any"},"output_config":{"format":{"schema":NaN}}}`), []byte(`{"choices":[{"message":{"refusal":"no","tool_calls":[{}]}}]}`))
	f.Add([]byte(`{"system":null,"messages":[{"role":"assistant","content":[{"type":"tool_use","input":[1]},5]},null]}`),
		[]byte(`{"choices":[{"message":null},{"message":{"tool_calls":[{"function":{"arguments":"NaN"}}]}}]}`))
	f.Fuzz(func(t *testing.T, request, body []byte) {
		s := &Session{}
		q, err := apis.ParseRequest(apis.Messages, request, nil)
		if err == nil {
			s.restore(q)
			if sent := q.Body(nil); json.Valid(request) && !json.Valid(sent) {
				t.Fatalf("%q is asked as %q", request, sent)
			}
		} else if _, err = apis.ParseRequest(apis.Messages, []byte(`{"model":"policy","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`), nil); err != nil {
			t.Fatal(err)
		}
		a := &completion.Answer{}
		visible, err := a.Add(body, completion.View{})
		if err != nil || len(a.Choices) == 0 {
			return
		}
		for _, c := range a.Choices {
			c.Assemble()
		}
		was := a.Choices[0].Message
		s.tree.Messages = append(s.tree.Messages, was)
		m := jsontext.ParseObject(apis.Messages.Encode(nil, a, visible))
		if !json.Valid(m.Bytes()) {
			t.Fatalf("%q is shown as %q", body, m.Bytes())
		}
		var out bytes.Buffer
		apis.Messages.EncodeEvents(nil, &out).End(m)
		events := completion.NewEventReader(&out, func() {})
		for e, err := events.Next(); err != io.EOF; e, err = events.Next() {
			if err != nil || !json.Valid(e.Data) {
				t.Fatalf("%v: %q has the event %q", err, body, e.Data)
			}
		}
		answer := jsontext.Object{{Key: "role", Raw: []byte(`"assistant"`)}, {Key: "content", Raw: m.Get("content")}}
		back := jsontext.Object{{Key: "messages", Raw: fmt.Appendf(nil, "[%s]", answer.Bytes())}}
		if q, err = apis.ParseRequest(apis.Messages, back.Bytes(), nil); err != nil {
			t.Fatal(err)
		}
		s.restore(q)
		if completion.RefusalOf(&was) != "" || was.Role != "assistant" {
			return
		}
		if !continues(&was, &q.Messages[0]) {
			t.Fatalf("%+v came back as %+v", was, q.Messages[0])
		}
	})
}
