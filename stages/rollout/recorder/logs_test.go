package recorder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/gateway"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// TestLogsAreReadAsTheRecorderRecords: a proxy that logs requests and answers as the agent's bytes has, read by import, what the
// recorder recorded of the same calls: by each API, whole and streamed, as JSON, as text and as a list of chunks.
func TestLogsAreReadAsTheRecorderRecords(t *testing.T) {
	schemaOf := fields{"type": "object", "properties": fields{"a": fields{"type": "integer"}}}
	calls := map[string]fields{
		"/chat/completions": {"messages": list{fields{"role": "system", "content": "Be brief."}, user("add 1")}, "logprobs": true, "return_token_ids": true,
			"tools": list{fields{"type": "function", "function": fields{"name": "add", "parameters": schemaOf}}}},
		"/messages": {"max_tokens": 90, "system": "Be brief.", "messages": list{user("add 1")}, "tools": list{fields{"name": "add", "input_schema": schemaOf}}},
		"/responses": {"instructions": "Be brief.", "input": "add 1", "include": list{"message.output_text.logprobs"},
			"tools": list{fields{"type": "function", "name": "add", "parameters": schemaOf}}},
	}
	for path, q := range calls {
		for _, stream := range []bool{false, true} {
			for _, form := range []string{"as it is", "text", "chunks"} {
				if !stream && form == "chunks" {
					continue
				}
				t.Run(fmt.Sprint(path, stream, form), func(t *testing.T) {
					e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Reasoning: true, Script: func(recordertest.Request) recordertest.Reply {
						return recordertest.Reply{Content: "Now I add.", ToolCalls: []formats.ToolCall{{ID: "c1", Name: "add", Arguments: `{"a":1}`}}}
					}}
					s := record(t, e).Begin(context.Background(), "t", "g")
					q["model"], q["stream"] = "policy", stream
					if path == "/chat/completions" {
						q["stream_options"] = map[bool]any{true: fields{"include_usage": true}}[stream]
					}
					_, out := post(t, s.BaseURL()+path, q)
					want := s.End()
					logged := fields{"id": "x", "request": q, "response": string(out)}
					switch {
					case form == "chunks":
						logged["response"] = chunksOf(string(out))
					case form == "as it is" && !stream:
						logged["response"] = json.RawMessage(out)
					}
					record, _ := json.Marshal(logged)
					p := gateway.Calls.Convert(importers.Record{Data: record})
					if p.Err != nil || len(p.Losses) > 0 {
						t.Fatalf("%v %v: %s", p.Err, p.Losses, record)
					}
					got := p.Items[0].Row
					if path != "/chat/completions" { // whose answers have tokens
						for i := range want.Messages {
							m := &want.Messages[i]
							m.TokenIDs, m.Logprobs, m.TokenTexts, m.PromptDeltaIDs = nil, nil, nil, nil
						}
						for i := range got.Messages {
							got.Messages[i].Logprobs, got.Messages[i].TokenTexts = nil, nil
						}
					}
					if diff := cmp.Diff(want.Messages, got.Messages); diff != "" {
						t.Error(diff)
					}
					w, g := want.Calls[0], got.Calls[0]
					w.Endpoint, w.LatencyMS, w.LogprobsMode = "", 0, ""
					if diff := cmp.Diff(w, g); diff != "" {
						t.Error(diff)
					}
					if !slices.Equal(want.ToolSets, got.ToolSets) {
						t.Errorf("%s, want %s", got.ToolSets, want.ToolSets)
					}
				})
			}
		}
	}
}

// chunksOf returns the data of a stream's events.
func chunksOf(text string) (out list) {
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			out = append(out, json.RawMessage(data))
		}
	}
	return out
}
