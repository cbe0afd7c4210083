package recorder

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// views of agents that stream.
var streamViews = []view{{stream: true}, {stream: true, ids: true}, {stream: true, usage: true, logprobs: true}}

// FuzzChunkTemplate: the chunks of a stream, a line each, are recorded and shown as if
// each was read in full.
func FuzzChunkTemplate(f *testing.F) {
	chunk := func(head, delta, logprobs, rest string) string {
		return `{` + head + `"choices":[{"index":0,"delta":{` + delta + `},"logprobs":` + logprobs + rest + `}]}`
	}
	token := func(token, logprob, more string) string {
		return `{"content":[{"token":` + token + `,"logprob":` + logprob + more + `}]}`
	}
	const head, text, ids, rest = `"id":"1","model":"a",`, `"content":"a"`, `,"token_ids":[7]`, `,"finish_reason":null,"token_ids":[8]`
	for _, stream := range [][]string{
		{ // what is in front of the choices
			chunk(head, text, "null", ids), chunk(head, text, "null", ids), chunk(`"id":"1","model":"b",`, text, "null", ids), chunk(head, text, "null", ids),
			`{"model":"c","error":null}`, chunk(head, text, "null", ids), chunk(`"prompt_token_ids":[1,2],`+head, text, "null", ids),
			chunk(`"prompt_token_ids":[1,2],`+head, text, "null", ids), chunk(`"usage":null,`, text, "null", ids),
			chunk(`"usage":null,`, `"content":"bc"`, "null", ids),
			chunk(`"usage":{"prompt_tokens":3,"completion_tokens":4},`, text, "null", ids), chunk(head, text, "null", ids+`,"finish_reason":"stop"`),
			`{"id":"1","model":"a","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9}}`, chunk(head, text, "null", ids),
		},
		{ // one of another kind between
			chunk(`"usage":{"completion_tokens":4},`, text, "null", ids), `{"choices":[],"usage":{"completion_tokens":9}}`,
			chunk(`"usage":{"completion_tokens":4},`, text, "null", ids),
		},
		{ // texts and tokens
			chunk("", text, token(`"token_id:1"`, "-1.5", `,"bytes":[97],"top_logprobs":[]`), rest),
			chunk("", `"content":"\"b\u00e9\n"`, token(`"token_id:12"`, "-0", `,"bytes":[],"top_logprobs":[{"token":"x","logprob":-2}]`), rest),
			chunk("", `"content":""`, token(`"b\""`, "0.0", `,"bytes":[ 1,2 ],"top_logprobs":[null]`), `,"finish_reason":null,"token_ids":[]`),
			chunk("", "\"content\":\"\xff\"", token("\"\xff\"", "-1e-7", `,"bytes":[],"top_logprobs":[]`), `,"finish_reason":null,"token_ids":[1,2]`),
			chunk("", text, token(`"token_id:x"`, "-Infinity", `,"bytes":[],"top_logprobs":[]`), `,"finish_reason":null,"token_ids":[-1]`),
			chunk("", text, token(`"c"`, "1.5", `,"bytes":[007],"top_logprobs":[]`), rest),
			chunk("", text, token(`null`, "null", `,"bytes":null,"top_logprobs":[]`), `,"finish_reason":"stop","token_ids":null`),
		},
		{ // with ids, reasoning, and two tokens at once
			chunk("", `"reasoning":"a","content":null`, token(`"a"`, "-1", `,"id":5`), ""),
			chunk("", `"reasoning":"b","content":null`, token(`"b"`, "-1", `,"id":67`), ""),
			chunk("", `"reasoning":"b","content":null`, token(`"b"`, "-1", `,"id":-7`), ""),
			chunk("", `"reasoning":"b","content":null`, token(`"b"`, "-1", `,"id":1.5`), ""),
			chunk("", `"reasoning":"a","reasoning_content":"b"`, `{"content":[{"logprob":-1},{"logprob":-2}]}`, ""),
			chunk("", `"reasoning":"","reasoning_content":"c"`, `{"content":[{"logprob":-1},{"logprob":-3}]}`, ""),
			chunk("", `"reasoning":"a","reasoning_content":"b"`, "null", ""), chunk("", `"reasoning":"c","reasoning_content":"d"`, "null", ""),
			chunk("", `"refusal":"no"`, `{"content":null,"refusal":[]}`, ""), chunk("", `"refusal":"n\u006f"`, `{"content":null,"refusal":[]}`, ""),
			chunk("", `"refusal":"no"`, `{"content":[],"refusal":null}`, ""), chunk("", `"refusal":"yes"`, `{"content":[],"refusal":null}`, ""),
		},
		{ // texts of completions, tools, tokens elsewhere
			`{"choices":[{"index":0,"text":"a","prompt_token_ids":null,"token_ids":[1]}]}`,
			`{"choices":[{"index":0,"text":"bc","prompt_token_ids":null,"token_ids":[2]}]}`,
			`{"choices":[{"index":0,"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1]}}]}`,
			`{"choices":[{"index":0,"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}`,
			`{"choices":[{"delta":{"content":"a"},"meta_info":{"output_token_logprobs":[[-1,2,null]]}}]}`,
			`{"choices":[{"delta":{"content":"b"},"meta_info":{"output_token_logprobs":[[-1,2,null]]}}]}`,
			`{"choices":[{"delta":{"content":"a","generation_token_ids":[1]}}]}`, `{"choices":[{"delta":{"content":"a","generation_token_ids":[1]}}]}`,
			`{"choices":[{"delta":{},"response_token_ids":[1]}]}`, `{"choices":[{"delta":{},"response_token_ids":[1]}]}`,
		},
		{ // several choices, and what is no chunk
			`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{"content":"b"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"c"}}]}`,
			`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"a"}}]}`,
			`{"choices":1,"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a"}}],"choices":[{"delta":{"content":"b"}}]}`,
			`{"choices":[{"delta":{"content":"a"}`, `[]`, `{"choices":[5]}`, `{"choices":[5]}`,
			`{"choices":[{"delta":{"content":"a"}}],"error":{"message":"no"}}`,
		},
	} {
		var all []byte
		for _, s := range stream {
			all = append(append(all, s...), '\n')
		}
		f.Add(all)
	}
	recorded, err := filepath.Glob("testdata/vllm/*.sse")
	if err != nil || len(recorded) == 0 {
		f.Fatal(err)
	}
	for _, name := range recorded {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.ReplaceAll(b, []byte("data: "), nil))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		for _, see := range streamViews {
			checkTemplate(t, stream, see)
		}
	})
}

// checkTemplate returns how many chunks were not read in full.
func checkTemplate(t *testing.T, stream []byte, see view) (matched int) {
	t.Helper()
	one, full := &answer{}, &answer{template: chunkTemplate{unused: maxUnused}}
	for body := range bytes.Lines(stream) {
		learned := one.template.known
		got, err := one.add(slices.Clone(body), see)
		want, wantErr := full.add(slices.Clone(body), see)
		if string(got) != string(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s is shown as %s, %v; read in full as %s, %v", body, got, err, want, wantErr)
		}
		if got, want := recordedSoFar(one), recordedSoFar(full); got != want {
			t.Fatalf("%s is recorded as\n%s\nread in full as\n%s", body, got, want)
		}
		if learned && one.template.unused == 0 {
			matched++
		}
		if err != nil {
			break
		}
	}
	return matched
}

// TestRandomChunksMatchTheTemplate: each part of a chunk is that of the one before, or
// another.
func TestRandomChunksMatchTheTemplate(t *testing.T) {
	entry := func(more string) []string {
		var out []string
		for _, token := range []string{`"token_id:9"`, `"a"`, `"\"\u00e9"`, `""`, `null`} {
			for _, logprob := range []string{"-1.5", "-0.25", "-1e-8", "0", "0.0", "1", "NaN", "null"} {
				out = append(out, `{"token":`+token+`,"logprob":`+logprob+more+`}`)
			}
		}
		return out
	}
	lists := func(entries []string) (out []string) {
		for _, e := range entries {
			out = append(out, `"logprobs":{"content":[`+e+`]},`)
		}
		return append(out, `"logprobs":null,`, "", `"logprobs":{"content":[],"refusal":null},`, `"logprobs":{"content":null,"refusal":[{"logprob":-1}]},`)
	}
	parts := [][]string{
		{`{"id":"1",`, `{"id":"2",`, `{"model":"m",`, `{"usage":null,`, `{"usage":{"prompt_tokens":1,"completion_tokens":2},`,
			`{"prompt_token_ids":[1],`, "{ "},
		{`"choices":[{"index":0,`, `"choices":[{"index":0,`, `"choices":[{"index":1,`, `"choices":[{`, `"choices" : [ {`},
		{`"delta":{"content":"a"},`, `"delta":{"content":"\n"},`, `"delta":{"content":""},`, `"delta":{},`, `"delta":null,`,
			`"delta":{"role":"assistant","content":"b","tool_calls":[]},`,
			`"delta":{"reasoning":"a"},`, `"delta":{"reasoning":"b","reasoning_content":null},`, `"delta":{"reasoning":"","reasoning_content":"c"},`,
			`"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]},`, `"text":"t",`, `"text":"",`, ""},
		lists(slices.Concat(entry(""), entry(`,"bytes":[1,22],"top_logprobs":[]`), entry(`,"bytes":[],"top_logprobs":[{"token":"x","logprob":-3}]`),
			entry(`,"id":7`), entry(`,"id":8,"bytes":null`), []string{`{"logprob":-1},{"logprob":-2}`, `{"logprob":-1,"logprob":-3}`, "{}"})),
		{`"finish_reason":null`, `"finish_reason":null`, `"finish_reason":"stop"`, `"matched_stop":1`},
		{`,"token_ids":[5]`, `,"token_ids":[678]`, `,"token_ids":[1,2]`, `,"token_ids":[]`, `,"token_ids":null`, `,"token_ids":[ 3 ]`, `,"token_ids":[0.5]`,
			`,"response_token_ids":[4]`, ""},
		{`}]}`, `}]}`, `}],"usage":null}`, `}],"error":null}`, `},{}]}`, `} ] }`},
	}
	random, matched := rand.New(rand.NewPCG(1, 2)), 0
	for range 3000 {
		var stream []byte
		chosen := make([]int, len(parts))
		for range 10 {
			for k := range parts {
				if changes := []int{20, 20, 2, 2, 20, 2, 20}[k]; random.IntN(changes) == 0 {
					chosen[k] = random.IntN(len(parts[k]))
				}
				stream = append(stream, parts[k][chosen[k]]...)
			}
			stream = append(stream, '\n')
		}
		matched += checkTemplate(t, stream, streamViews[random.IntN(len(streamViews))])
	}
	if matched < 2000 {
		t.Errorf("only %d chunks were alike", matched)
	}
}

// recordedSoFar is all that an answer has become.
func recordedSoFar(a *answer) string {
	out := fmt.Sprint(a.model, a.promptIDs, a.usage, a.err)
	for _, c := range a.choices {
		t := c.tokens
		if t.fallback != nil {
			out += fmt.Sprint(t.fallback.logprobs)
		}
		t.fallback = nil
		out += fmt.Sprintf("\n%d %+v %q %q %q %q %d %+v", c.index, c.message, c.finish, c.streamed.content.String(), c.streamed.reasoning.String(),
			c.streamed.refusal.String(), c.textChunks, t)
	}
	return out
}

// TestNearlyAllChunksMatchTheTemplate: of a stream as engines send it, only the first
// and the last chunk are read in full.
func TestNearlyAllChunksMatchTheTemplate(t *testing.T) {
	for _, see := range streamViews {
		a, matched := &answer{}, 0
		for _, event := range longStream(20) {
			data := dataOf(bytes.TrimSpace(event))
			if string(data) == "[DONE]" {
				continue
			}
			a.template.unused = 1
			if _, err := a.add(data, see); err != nil {
				t.Fatal(err)
			}
			if a.template.unused == 0 {
				matched++
			}
		}
		if ids, _ := a.choices[0].tokens.bestIDs(); matched != 18 || len(ids) != 20 {
			t.Errorf("%d of 20 chunks were alike, with %d ids", matched, len(ids))
		}
	}
}
