package recorder_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
)

// The forms are those of LiteLLM 1.106.2 and 1.110.2 with providers openai and hosted_vllm before an engine with tokens in
// the places of vLLM, SGLang and NeMo.
const (
	movedChoice  = `{"prompt_token_ids":[1,2],"token_ids":[7],"stop_reason":null}`
	movedBoth    = `{"response_token_ids":[7],"prompt_token_ids":[1,2],"token_ids":[7],"meta_info":{"output_token_logprobs":[[-0.5,7,null]]},"stop_reason":null}`
	movedMessage = `{"generation_token_ids":[7],"reasoning":"hm","prompt_token_ids":[1,2],"generation_log_probs":[-0.5]}`
	oneLogprob   = `{"content":[{"token":"a","bytes":[97],"logprob":-0.5,"top_logprobs":[]}]}`
)

// TestTokensThatAGatewayMoved are read, from answers and streams, and cut from what the agent sees unless it asked for them.
func TestTokensThatAGatewayMoved(t *testing.T) {
	for name, c := range map[string]struct{ choice, message, logprobs, source, seen string }{
		"choice":               {movedChoice, "", oneLogprob, schema.TokensChoice, `"provider_specific_fields":{"stop_reason":null}`},
		"choice, nothing left": {`{"token_ids":[7],"prompt_token_ids":[1,2]}`, "", oneLogprob, schema.TokensChoice, ""},
		"two names": {movedBoth, "", oneLogprob, schema.TokensMetaInfo,
			`"provider_specific_fields":{"meta_info":{"output_token_logprobs":[[-0.5,7,null]]},"stop_reason":null}`},
		"message":                   {"", movedMessage, oneLogprob, schema.TokensMessage, `"provider_specific_fields":{"reasoning":"hm"}`},
		"message, its own logprobs": {"", movedMessage, "null", schema.TokensMessage, `"provider_specific_fields":{"reasoning":"hm"}`},
		"both, each with its own":   {movedBoth, movedMessage, "null", schema.TokensChoice, `"provider_specific_fields":{"reasoning":"hm"}`},
		"the engine's names inside": {"", `{"token_ids":[7],"prompt_token_ids":[1,2],"logprobs":` + oneLogprob + `}`, "null", schema.TokensMessage,
			`"provider_specific_fields":{}`},
	} {
		if strings.HasPrefix(name, "both") { // meta_info has the logprobs, too
			c.choice = movedChoice
		}
		member := func(v string) string {
			if v == "" {
				return ""
			}
			return `,"provider_specific_fields":` + v
		}
		for _, stream := range []bool{false, true} {
			for _, asks := range []bool{false, true} {
				body := fmt.Sprintf(`{"id":"x","model":"policy","choices":[{"index":0,"message":{"content":"a","role":"assistant","function_call":null%s},"logprobs":%s%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}`,
					member(c.message), c.logprobs, member(c.choice))
				if stream {
					body = `data: {"id":"x","model":"policy","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n" +
						fmt.Sprintf(`data: {"id":"x","model":"policy","choices":[{"index":0,"delta":{"content":"a"%s},"logprobs":%s%s}]}`, member(c.message), c.logprobs, member(c.choice)) + "\n\n" +
						ending("stop", 1)
				}
				_, s := play(t, body)
				q := fields{"model": "policy", "stream": stream}
				if asks {
					q["logprobs"], q["return_token_ids"] = true, true
				}
				_, out := ask(t, s, q, user("hi"))
				rec := s.End()
				m := rec.Messages[len(rec.Messages)-1]
				if rec.Untrainable != nil || rec.TokenSource != c.source || len(m.TokenIDs) != 1 || m.TokenIDs[0] != 7 || len(m.PromptDeltaIDs) != 2 ||
					len(m.Logprobs) != 1 || m.Logprobs[0] != -0.5 {
					t.Errorf("%s, stream %v: %v, %s %s", name, stream, rec.Untrainable, rec.TokenSource, outlines(rec))
				}
				text := string(out)
				switch hidden := strings.Contains(text, "token_ids") || strings.Contains(text, `"logprob"`) || strings.Contains(text, "log_probs"); {
				case asks && (!strings.Contains(text, c.choice) || !strings.Contains(text, c.message)):
					t.Errorf("%s, stream %v: the agent asked and got %s", name, stream, text)
				case !asks && (hidden || !strings.Contains(text, c.seen) || c.seen == "" && strings.Contains(text, "provider_specific")):
					t.Errorf("%s, stream %v: the agent got %s", name, stream, text)
				}
			}
		}
	}
}

// TestStreamsWithMovedTokensOfSeveralChunks have the tokens of each.
func TestStreamsWithMovedTokensOfSeveralChunks(t *testing.T) {
	var body strings.Builder
	body.WriteString(role)
	for k := range 20 {
		fmt.Fprintf(&body, `data: {"id":"x","model":"policy","choices":[{"index":0,"delta":{"content":"a","provider_specific_fields":{"generation_token_ids":[%d],"prompt_token_ids":[1,2],"generation_log_probs":[-0.%d]}}}]}`+"\n\n", k, k+1)
	}
	_, s := play(t, body.String()+ending("stop", 20))
	_, out := ask(t, s, fields{"model": "policy", "stream": true}, user("hi"))
	if rec := s.End(); rec.Untrainable != nil || len(rec.Messages[1].TokenIDs) != 20 || len(rec.Messages[1].Logprobs) != 20 || strings.Contains(string(out), "generation") {
		t.Errorf("%v %v %s", rec.Untrainable, outlines(rec), out)
	}
}

// TestFunctionCallsInStreams: a call in the older form is what a whole answer's is.
func TestFunctionCallsInStreams(t *testing.T) {
	for name, pieces := range map[string][]string{
		"by piece": {`"name":"f","arguments":""`, `"arguments":"{\"a\""`, `"arguments":":1}"`},
		"repeated": {`"name":"f","arguments":"{\"a\""`, `"name":"f","arguments":":1}"`},
		"at once":  {`"name":"f","arguments":"{\"a\":1}"`},
	} {
		stream := role + chunk(`{"content":"so"}`, 3)
		for _, p := range pieces {
			stream += chunk(`{"content":null,"function_call":{`+p+`}}`, 3)
		}
		n := len(pieces) + 1
		stream += chunk(`{"function_call":null}`, 3) + ending("function_call", n+1)
		for _, path := range []string{"/chat/completions", "/messages", "/responses"} {
			_, s := play(t, stream)
			q := fields{"model": "policy", "stream": true, "messages": list{user("hi")}}
			if path != "/chat/completions" {
				q = made[path[1:]].ask
			}
			_, out := post(t, s.BaseURL()+path, q)
			rec := s.End()
			m := rec.Messages[1]
			if rec.Untrainable != nil || len(m.ToolCalls) != 1 || m.ToolCalls[0].Name != "f" || m.ToolCalls[0].Arguments != `{"a":1}` || m.Content != "so" || len(m.TokenIDs) != n+1 {
				t.Errorf("%s %s: %v %v", name, path, rec.Untrainable, outlines(rec))
			}
			if strings.Contains(rec.Calls[0].Sampling, formats.AmbiguousCalls) || !strings.Contains(string(out), `"f"`) {
				t.Errorf("%s %s: %s, the agent got %s", name, path, rec.Calls[0].Sampling, out)
			}
		}
	}
}
