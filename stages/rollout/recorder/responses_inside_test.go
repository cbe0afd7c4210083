package recorder

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// FuzzResponses: no request or answer makes the conversion panic, what it makes
// of valid JSON is valid, and a conversation that comes back, by its items or by
// the id of the response, is the one recorded.
func FuzzResponses(f *testing.F) {
	given := `{"id":"c","model":"m","created":5,"choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning":"b","tool_calls":[{"id":"1","function":{"name":"n__f","arguments":"{\"x\": 1}"}},{"id":"2","function":{"name":"g","arguments":"{\"input\": \"<\"}"}}]},"finish_reason":"stop","logprobs":{"content":[{"token":"a","logprob":-1}]}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`
	f.Add([]byte(`{"instructions":"s","include":["message.output_text.logprobs","reasoning.encrypted_content"],"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f","parameters":{}}]},{"type":"custom","name":"g","format":{"type":"grammar","syntax":"lark","definition":"d"}},{"type":"web_search"}],"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"u"}]},{"role":"developer","content":"n"}]}`), []byte(given))
	f.Add([]byte(`{"input":[{"type":"custom_tool_call","call_id":"1","name":"g","input":"<"},{"type":"custom_tool_call_output","call_id":"1","output":[{"type":"input_image","image_url":7}]}],"tool_choice":{"type":"custom"},"text":{"format":{"type":"json_schema","schema":NaN}}}`), []byte(`{"choices":[{"message":{"content":"x","refusal":"no","tool_calls":[{}]}}]}`))
	f.Add([]byte(`{"input":"","tools":null,"store":false,"reasoning":{"effort":null}}`),
		[]byte(`{"choices":[{"message":null,"finish_reason":"length"},{"message":{"tool_calls":[{"function":{"arguments":"NaN"}}]}}],"created":NaN,"usage":{"completion_tokens_details":{"reasoning_tokens":-1}}}`))
	f.Fuzz(func(t *testing.T, request, body []byte) {
		s := &Session{}
		q, err := apis.ParseRequest(apis.Responses, request, &s.responses)
		if err != nil {
			return
		}
		s.restore(q)
		q.ID = "resp_1"
		if sent := q.Body(nil); json.Valid(request) && !json.Valid(sent) {
			t.Fatalf("%q is asked as %q", request, sent)
		}
		a := &completion.Answer{}
		visible, err := a.Add(body, completion.View{Logprobs: true})
		if err != nil || len(a.Choices) == 0 {
			return
		}
		for _, c := range a.Choices {
			c.Assemble()
		}
		was := a.Choices[0].Message
		s.tree.Messages = append(s.tree.Messages, was)
		s.responses.Store(q, a, apis.Responses.Encode(q, a, visible))
		o := jsontext.ParseObject(apis.Responses.Encode(q, a, visible))
		if json.Valid(request) && !json.Valid(o.Bytes()) {
			t.Fatalf("%q is shown as %q", body, o.Bytes())
		}
		var out bytes.Buffer
		apis.Responses.EncodeEvents(q, &out).End(o)
		events := completion.NewEventReader(&out, func() {})
		for e, err := events.Next(); err != io.EOF; e, err = events.Next() {
			if err != nil || json.Valid(request) && !json.Valid(e.Data) {
				t.Fatalf("%v: %q has the event %q", err, body, e.Data)
			}
		}
		if was.Role != "assistant" {
			return
		}
		ways := []jsontext.Object{{{Key: "input", Raw: o.Get("output")}}}
		if string(q.Original.Get("store")) != "false" {
			ways = append(ways, jsontext.Object{{Key: "input", Raw: []byte("[]")}, {Key: "previous_response_id", Raw: o.Get("id")}})
		}
		for _, way := range ways {
			back, err := apis.ParseRequest(apis.Responses, way.Bytes(), &s.responses)
			if err != nil {
				t.Fatalf("%s: %v", way.Bytes(), err)
			}
			s.restore(back)
			if len(back.Messages) == 0 {
				t.Fatalf("%+v did not come back by %s", was, way.Bytes())
			}
			if !continues(&was, &back.Messages[len(back.Messages)-1]) {
				t.Fatalf("%+v came back as %+v", was, back.Messages[len(back.Messages)-1])
			}
		}
	})
}
