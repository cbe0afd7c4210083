package systemtest

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollmill/rollmill/stages/rollout/agents/nat/nattest"
)

// serveWeighing starts a workflow server whose agent weighs several answers in
// each turn, and sets $WORKFLOW to its URL. Its input is JSON: a list of turns,
// each a list of texts with their scores. The first text of a turn is the answer.
//
//	weighing
func serveWeighing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: weighing")
	}
	web := httptest.NewServer(&nattest.Server{Script: weigh})
	ts.Defer(web.Close)
	ts.Setenv("WORKFLOW", web.URL)
}

func weigh(body map[string]any) *nattest.Play {
	type object = map[string]any
	var turns [][]struct {
		Text  string
		Score float64
	}
	text := fmt.Sprint(body["input_message"])
	if err := json.Unmarshal([]byte(text), &turns); err != nil {
		return &nattest.Play{Fault: nattest.Raised}
	}
	p := &nattest.Play{Lines: []string{nattest.Step("WORKFLOW_START", "w", "root", "weigh", "", 0, nil)}}
	at := 0.0
	step := func(kind, id string, more object) {
		at++
		name := "policy"
		if kind == "TTC_END" {
			name = "candidate"
		}
		p.Lines = append(p.Lines, nattest.Step(kind, id, "w", name, "langchain", at, more))
	}
	prompt := []object{{"type": "human", "content": text}}
	last := ""
	for i, turn := range turns {
		id := fmt.Sprint("call-", i)
		last = turn[0].Text
		answer := object{"type": "ai", "content": last, "response_metadata": object{"model_name": "policy", "finish_reason": "stop",
			"logprobs": object{"content": []object{{"token": "token_id:7", "bytes": []byte(last), "logprob": -0.5}}}}}
		step("LLM_START", id, object{"data": object{"input": prompt}})
		step("LLM_END", id, object{"data": object{"payload": object{"message": answer}},
			"usage_info": object{"token_usage": object{"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}})
		for k, c := range turn {
			step("TTC_END", fmt.Sprint(id, "-", k),
				object{"data": object{"input": prompt, "output": c.Text, "turn_id": fmt.Sprint("turn-", i), "turn_index": i, "candidate_index": k,
					"score": c.Score}})
		}
		prompt = append(prompt, answer, object{"type": "human", "content": "and then?"})
	}
	p.Lines = append(p.Lines, nattest.Value(last), nattest.Step("WORKFLOW_END", "w", "root", "weigh", "", at+1, nil))
	return p
}
