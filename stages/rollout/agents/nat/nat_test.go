package nat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/agenttest"
	"github.com/rollmill/rollmill/stages/rollout/agents/nat"
	"github.com/rollmill/rollmill/stages/rollout/agents/nat/nattest"
)

type object = map[string]any

// logprobs are an answer's, a token a word, with vLLM's ids.
func logprobs(words ...string) object {
	var list []object
	for i, w := range words {
		list = append(list, object{"token": fmt.Sprintf("token_id:%d", 10+i), "bytes": []byte(w), "logprob": -0.5 * float64(i+1), "top_logprobs": []any{}})
	}
	return object{"content": list, "refusal": nil}
}

func used(prompt, completion int) object {
	return object{"token_usage": object{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}}
}

// langchain is an agent of two calls and a tool between them, as LangChain's
// callbacks log it. Steps come late and out of order.
func langchain() []string {
	human := object{"type": "human", "content": "2+3?", "additional_kwargs": object{}}
	first := object{"type": "ai", "content": "", "tool_calls": []object{{"name": "add", "args": object{"a": 2, "b": 3}, "id": "call-1", "type": "tool_call"}},
		"response_metadata": object{"finish_reason": "tool_calls", "model_name": "policy", "logprobs": logprobs("call", "add")}}
	tool := object{"type": "tool", "content": "5", "tool_call_id": "call-1", "status": "success"}
	second := object{"type": "ai", "content": "five",
		"response_metadata": object{"finish_reason": "stop", "model_name": "policy", "logprobs": logprobs("five")}}
	schema := []object{{"type": "function", "function": object{"name": "add", "parameters": object{"type_": "object"}}}}
	return []string{
		nattest.Step("WORKFLOW_START", "w", "root", "react_agent", "", 1, nil),
		nattest.Step("LLM_END", "l2", "f", "policy", "langchain", 6,
			object{"data": object{"input": "5", "output": "five", "payload": object{"text": "five", "type": "ChatGeneration", "message": second}},
				"usage_info": used(9, 1)}),
		nattest.Step("FUNCTION_START", "f", "w", "solver", "", 1.5, nil),
		nattest.Step("FUNCTION_START", "chain", "f", "RunnableSequence", "langchain", 1.7, nil),
		nattest.Step("LLM_START", "l1", "chain", "policy", "langchain", 2,
			object{"data": object{"input": []object{human}}, "metadata": object{"tools_schema": schema}}),
		nattest.Step("LLM_END", "l1", "f", "policy", "langchain", 3,
			object{"data": object{"input": "2+3?", "output": "\n\nTool calls: [...]",
				"payload": object{"text": "", "type": "ChatGeneration", "message": first}}, "usage_info": used(4, 2)}),
		nattest.Step("TOOL_START", "t1", "f", "add", "langchain", 3.5, nil),
		nattest.Step("TOOL_END", "t1", "f", "add", "langchain", 4, object{"data": object{"output": "5"}}),
		nattest.Step("LLM_START", "l2", "t1", "policy", "langchain", 5,
			object{"data": object{"input": []object{human, first, tool}}, "metadata": object{"tools_schema": schema}}),
		nattest.Value("fi"), nattest.Value("ve"),
		nattest.Step("WORKFLOW_END", "w", "root", "react_agent", "", 7, nil),
		`observability_trace: {"observability_trace_id":"trace-9"}`,
	}
}

// config is the agent's settings, and the stage's.
type config struct {
	nat.Settings
	agents.Setup
}

func at(url string) config {
	return config{nat.Settings{ServiceSettings: agents.ServiceSettings{Arguments: agents.Arguments{Words: []string{url}}}},
		agents.Setup{TargetModel: "policy"}}
}

func newAgent(t *testing.T, c config) agents.Agent {
	t.Helper()
	a, err := c.Agent(t.Context(), c.Setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// attempt makes one, whole as the runner would keep it.
func attempt(t *testing.T, c config) formats.Trajectory {
	t.Helper()
	e := agenttest.Example(1)
	row, err := newAgent(t, c).Describe().Stored(t.Context(), agents.Attempt{Example: e, TrajectoryID: "t-1"})
	if err != nil {
		var f *agents.Failure
		if !errors.As(err, &f) {
			t.Fatal(err)
		}
		return formats.Trajectory{Status: outcomes.StatusFailed, FailureClass: f.Class, Error: f.Error()}
	}
	row.TrajectoryID, row.ExampleID, row.Example = "t-1", e.ID, string(e.Fields)
	row.SetPayloadDigest()
	for _, p := range validate.Trajectory(&row) {
		t.Errorf("the row is invalid: %s", p)
	}
	return row
}

func plays(t *testing.T, lines ...string) *nattest.Server {
	return nattest.New(t, func(object) *nattest.Play { return &nattest.Play{Lines: lines} })
}

func TestLangChainsStepsBecomeAConversation(t *testing.T) {
	s := plays(t, langchain()...)
	row := attempt(t, at(s.URL))
	if row.Status != outcomes.StatusOK || row.Answer != "five" || row.Model != "policy" || row.SampledTokens != 3 || row.PromptTokens != 13 ||
		row.CompletionTokens != 3 {
		t.Errorf("%+v", row)
	}
	var roles []string
	for _, m := range row.Messages {
		roles = append(roles, fmt.Sprintf("%s<%d", m.Role, m.Parent))
	}
	if got := strings.Join(roles, " "); got != "user<-1 assistant<0 tool<1 assistant<2" {
		t.Fatalf("messages %s", got)
	}
	asked, said := row.Messages[1], row.Messages[3]
	if fmt.Sprint(asked.ToolCalls) != `[{call-1 add {"a":2,"b":3}}]` || row.Messages[2].ToolCallID != "call-1" || row.Messages[2].Content != "5" {
		t.Errorf("%+v, %+v", asked, row.Messages[2])
	}
	if !slices.Equal(asked.TokenIDs, []int32{10, 11}) || !slices.Equal(asked.Logprobs, []float32{-0.5, -1}) || said.FinishReason != "stop" ||
		said.Content != "five" {
		t.Errorf("%+v, %+v", asked, said)
	}
	if len(row.ToolSets) != 1 || !strings.Contains(row.ToolSets[0], `"type":"object"`) || row.Calls[1].Tools != 0 || row.Calls[0].LatencyMS != 1000 {
		t.Errorf("%q, %+v", row.ToolSets, row.Calls)
	}
	if row.Calls[0].Function != "solver" || row.Calls[1].Function != "solver" || row.Metadata != `{"observability_trace_id":"trace-9"}` {
		t.Errorf("%+v, %s", row.Calls, row.Metadata)
	}
	a := s.Asked()[0]
	if a.Path != "/v1/workflow/full" || a.Session != "t-1" || a.Body["input_message"] != "what is 1?" || strings.Contains(a.Filter, "LLM_NEW_TOKEN") {
		t.Errorf("%+v", a)
	}
}

// TestLineEndsOfASpecifiedStream: lines may end with CR or CR LF, and a byte order mark may begin them.
func TestLineEndsOfASpecifiedStream(t *testing.T) {
	for _, end := range []string{"\r", "\r\n"} {
		row := attempt(t, at(plays(t, "\xef\xbb\xbf"+strings.Join(langchain(), end+end)).URL))
		if row.Status != outcomes.StatusOK || row.Answer != "five" || row.SampledTokens != 3 || len(row.Messages) != 4 {
			t.Errorf("%q: %+v", end, row)
		}
	}
}

// streaming is the same agent where the model streams: LLM_END has no tool
// calls, and messages have the ids by which they come back.
func streaming() []string {
	human := object{"type": "human", "content": "2+3?"}
	end := func(id, text, finish string, words ...string) object {
		return object{"type": "AIMessageChunk", "id": "lc_run--" + id, "content": text, "name": nil, "additional_kwargs": object{},
			"response_metadata": object{"finish_reason": finish, "model_name": "policy", "logprobs": logprobs(words...)}}
	}
	back := object{"type": "ai", "id": "lc_run--one", "content": "",
		"tool_calls": []object{{"name": "add", "args": object{"a": 2, "b": 3}, "id": "call-1", "type": "tool_call"}}}
	tool := object{"type": "tool", "content": "5", "tool_call_id": "call-1"}
	return []string{
		nattest.Step("LLM_START", "l1", "root", "policy", "langchain", 2, object{"data": object{"input": []object{human}}}),
		nattest.Step("LLM_END", "l1", "root", "policy", "langchain", 3,
			object{"data": object{"output": "", "payload": object{"text": "", "message": end("one", "", "tool_calls", "call", "add")}},
				"usage_info": used(4, 2)}),
		nattest.Step("LLM_START", "l2", "root", "policy", "langchain", 5, object{"data": object{"input": []object{human, back, tool}}}),
		nattest.Step("LLM_END", "l2", "root", "policy", "langchain", 6,
			object{"data": object{"output": "five", "payload": object{"text": "five", "message": end("two", "five", "stop", "five")}},
				"usage_info": used(9, 1)}),
		nattest.Value("five"),
	}
}

// TestStreamedToolCallsAreFoundInTheNextPrompt.
func TestStreamedToolCallsAreFoundInTheNextPrompt(t *testing.T) {
	row := attempt(t, at(plays(t, streaming()...).URL))
	if row.Status != outcomes.StatusOK || len(row.Messages) != 4 {
		t.Fatalf("%s %s: %+v", row.Status, row.Error, row.Messages)
	}
	if m := row.Messages[1]; !m.Sampled || fmt.Sprint(m.ToolCalls) != `[{call-1 add {"a":2,"b":3}}]` || len(m.TokenIDs) != 2 {
		t.Errorf("%+v", m)
	}
	if m := row.Messages[3]; m.Parent != 2 || m.Branch != "" || row.Messages[2].Parent != 1 {
		t.Errorf("%+v", row.Messages)
	}
}

// TestToolCallsThatNoStepNamesFailTheRow: it would train an answer that says
// nothing of what was called.
func TestToolCallsThatNoStepNamesFailTheRow(t *testing.T) {
	lines := append(streaming()[:2:2], nattest.Value("done"))
	if row := attempt(t, at(plays(t, lines...).URL)); row.FailureClass != outcomes.FailAgentOutput || !strings.Contains(row.Error, "tool calls") {
		t.Errorf("%s %s: %s", row.Status, row.FailureClass, row.Error)
	}
}

// TestFinishReasonsOfWorkflows are judged as the recorder's.
func TestFinishReasonsOfWorkflows(t *testing.T) {
	broken := strings.Split(strings.ReplaceAll(strings.Join(streaming(), "\x00"), `\"stop\"`, `\"content_filter\"`), "\x00")
	c := at(plays(t, broken...).URL)
	if row := attempt(t, c); row.FailureClass != outcomes.FailUnfinished {
		t.Errorf("%s %s", row.Status, row.Error)
	}
	c.AcceptFinish = []string{"content_filter"}
	if row := attempt(t, c); row.Status != outcomes.StatusOK {
		t.Errorf("%s %s", row.Status, row.Error)
	}
}

// TestBudgetsCountWorkflows: their calls pass no recorder, but their rows say
// what they cost.
func TestBudgetsCountWorkflows(t *testing.T) {
	if !newAgent(t, at("http://c")).Describe().Paid {
		t.Error("agent nat's attempts are not counted")
	}
}

func TestLlamaIndexAndADKAreReadToo(t *testing.T) {
	llama := []string{
		nattest.Step("LLM_START", "a", "root", "policy", "llama_index", 1, object{"data": object{"input": "system: be brief\nuser: hi\nthere"}}),
		nattest.Step("LLM_END", "a", "root", "policy", "llama_index", 2, object{"data": object{"output": "hello", "payload": object{
			"message": object{"role": "assistant", "blocks": []object{{"block_type": "text", "text": "hello"}}, "additional_kwargs": object{}},
			"raw":     object{"model": "policy", "choices": []object{{"finish_reason": "stop", "logprobs": logprobs("hello")}}}}}}),
		nattest.Value("hello"),
	}
	adk := []string{
		nattest.Step("LLM_START", "a", "root", "policy", "adk", 1,
			object{"data": object{"input": "hi",
				"payload": []object{{"role": "system", "content": "be brief"}, {"role": "user", "content": []object{{"type": "text", "text": "hi\nthere"}}}}}}),
		nattest.Step("LLM_END", "a", "root", "policy", "adk", 2, object{"data": object{"output": "hello", "payload": object{
			"message": object{"role": "assistant", "content": "hello"}, "finish_reason": "stop", "logprobs": logprobs("hello")}}}),
		nattest.Value("hello"),
	}
	for name, lines := range map[string][]string{"llama_index": llama, "adk": adk} {
		row := attempt(t, at(plays(t, lines...).URL))
		if row.Status != outcomes.StatusOK || len(row.Messages) != 3 {
			t.Fatalf("%s: %s %s: %+v", name, row.Status, row.Error, row.Messages)
		}
		m := row.Messages
		if m[0].Role != "system" || m[0].Content != "be brief" || m[1].Role != "user" || m[1].Content != "hi\nthere" || m[2].Content != "hello" ||
			len(m[2].TokenIDs) != 1 || m[2].FinishReason != "stop" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// A repeated turn, two agents at once, a model that is not the target.
func TestTreesAndTargets(t *testing.T) {
	ask := func(id, parent, model string, at float64, prompt []object, answer string) []string {
		return []string{
			nattest.Step("LLM_START", id, parent, model, "langchain", at, object{"data": object{"input": prompt}}),
			nattest.Step("LLM_END", id, parent, model, "langchain", at+1.5,
				object{"data": object{"payload": object{"message": object{"type": "ai", "content": answer,
					"response_metadata": object{"model_name": model, "finish_reason": "stop", "logprobs": logprobs(answer)}}}}}),
		}
	}
	yes := object{"type": "human", "content": "yes"}
	said := func(text string) object { return object{"type": "ai", "content": text} }
	lines := []string{nattest.Step("WORKFLOW_START", "w", "root", "talk", "", 0, nil), nattest.Step("FUNCTION_START", "f", "w", "critic", "", 0, nil)}
	lines = append(lines, ask("1", "w", "policy", 1, []object{yes}, "and?")...)
	lines = append(lines, ask("2", "w", "policy", 3, []object{yes, said("and?"), yes}, "so?")...)
	lines = append(lines, ask("3", "f", "judge", 3.5, []object{{"type": "system", "content": "judge"}, yes}, "fine")...)
	lines = append(lines, ask("4", "w", "policy", 4, []object{yes, said("and?"), yes}, "what?")...)
	lines = append(lines, nattest.Value("so?"))
	s := plays(t, lines...)
	if row := attempt(t, at(s.URL)); row.SampledTokens != 2 || len(row.Candidates) != 1 || row.Candidates[0].Reason != outcomes.CandidateRetried {
		t.Errorf("of two answers to one prompt, one trains: %d tokens, %+v", row.SampledTokens, row.Candidates)
	}
	all := at(s.URL)
	all.TrainAlternatives = true
	row := attempt(t, all)
	if row.Status != outcomes.StatusOK || len(row.Calls) != 4 || row.SampledTokens != 3 {
		t.Fatalf("%s %s: %+v", row.Status, row.Error, row.Calls)
	}
	branches := map[string]string{}
	for _, m := range row.Messages {
		branches[m.Content] += m.Branch
	}
	if branches["judge"] != "subagent" || branches["what?"] != "parallel" || branches["so?"] != "" {
		t.Errorf("%v", branches)
	}
	for targets, want := range map[string]int{"<workflow>": 3, "talk": 3, "critic": 1, "nobody": 0} {
		c := at(s.URL)
		c.TargetModel, c.Functions = "", []string{targets}
		row := attempt(t, c)
		n := 0
		for _, call := range row.Calls {
			if call.Target {
				n++
			}
		}
		if n != want || (want == 0) != (row.FailureClass == outcomes.FailNoCalls) || want == 0 && !strings.Contains(row.Error, `"judge" in "critic"`) {
			t.Errorf("%s: %d targets, %s %s", targets, n, row.FailureClass, row.Error)
		}
	}
}

// TestMessagesOfPartsAreContinued: a message of parts and blocks keeps the parts
// alone, which is what its next copy is compared with.
func TestMessagesOfPartsAreContinued(t *testing.T) {
	picture := object{"type": "human", "content": []object{{"type": "image_url", "image_url": object{"url": "data:,"}}}, "blocks": []object{{"text": "look"}}}
	answer := object{"type": "ai", "content": "a cat",
		"response_metadata": object{"model_name": "policy", "finish_reason": "stop", "logprobs": logprobs("a cat")}}
	call := func(id string, at float64, prompt ...object) []string {
		return []string{
			nattest.Step("LLM_START", id, "root", "policy", "langchain", at, object{"data": object{"input": prompt}}),
			nattest.Step("LLM_END", id, "root", "policy", "langchain", at+1, object{"data": object{"payload": object{"message": answer}}}),
		}
	}
	lines := slices.Concat(call("1", 1, picture), call("2", 3, picture, answer, object{"type": "human", "content": "sure?"}), []string{nattest.Value("a cat")})
	row := attempt(t, at(plays(t, lines...).URL))
	if row.Status != outcomes.StatusOK || len(row.Messages) != 4 || row.Messages[0].Content != "" || row.Messages[2].Branch != "" {
		t.Errorf("%s %s: %+v", row.Status, row.Error, row.Messages)
	}
}

func TestCandidatesAreKeptForPairs(t *testing.T) {
	lines := langchain()
	for i, text := range []string{"five", "six"} {
		lines = append(lines, nattest.Step("TTC_END", fmt.Sprint("c", i), "w", "dpo_candidate_move", "", 5.5, object{"data": object{
			"input": []object{{"role": "user", "content": "2+3?"}}, "output": text, "turn_id": "turn-1", "turn_index": 0, "candidate_index": i,
			"score": 0.75 - 0.5*float64(i)}}))
	}
	row := attempt(t, at(plays(t, lines...).URL))
	if len(row.Candidates) != 2 || *row.Candidates[1].Score != 0.25 {
		t.Fatalf("%+v", row.Candidates)
	}
	for _, c := range row.Candidates {
		if c.Turn != "turn-1" || c.Message != 3 || !strings.Contains(c.Metadata, "dpo_candidate_move") {
			t.Errorf("%+v", c)
		}
	}
}

func TestTheAnswerIsFoundByItsPath(t *testing.T) {
	lines := append(slices.Clone(langchain()[:9]), nattest.Value(object{"items": []object{{"text": "five"}}, "n": 5}))
	for path, want := range map[string]string{"": `{"items":[{"text":"five"}],"n":5}`, "$.items[0].text": "five", "$.n": "5", "$.none": ""} {
		c := at(plays(t, lines...).URL)
		c.ResultPath = path
		row := attempt(t, c)
		if row.Answer != want || (path == "$.none") != (row.FailureClass == outcomes.FailAgentOutput) {
			t.Errorf("%s: %q, %s %s", path, row.Answer, row.Status, row.Error)
		}
	}
}

func TestWhatGoesWrongIsNamed(t *testing.T) {
	nan := strings.Replace(strings.Join(langchain(), "\x00"), `\"logprob\":-0.5`, `\"logprob\":NaN`, 1)
	without := strings.ReplaceAll(strings.Join(langchain(), "\x00"), `\"logprobs\"`, `\"others\"`)
	merged := strings.Replace(strings.Join(langchain(), "\x00"), `\"completion_tokens\":2`, `\"completion_tokens\":7`, 1)
	split := func(s string) []string { return strings.Split(s, "\x00") }
	ends := func(more ...string) []string { return append(slices.Clone(langchain()[:9]), more...) }
	for name, c := range map[string]struct {
		play  nattest.Play
		class string
		says  string
	}{
		"bare error": {nattest.Play{Lines: ends(`{"code":"workflow_error","message":"boom","details":"ValueError"}`)}, outcomes.FailAgentExit,
			"boom (ValueError)"},
		"error event": {nattest.Play{Lines: []string{"event: error\ndata: {\"code\":\"user_auth_error\",\"message\":\"who?\"}"}},
			outcomes.FailAgentExit, "who?"},
		"error as data": {nattest.Play{Lines: ends(`data: {"code":"workflow_error","message":"late"}`)}, outcomes.FailAgentExit, "late"},
		"a person": {nattest.Play{Lines: []string{"event: interaction_required\ndata: {\"prompt\":\"sure?\"}"}}, outcomes.FailAgentExit,
			"interaction_required"},
		"202":            {nattest.Play{Fault: nattest.Interaction}, outcomes.FailAgentExit, "person"},
		"422, invalid":   {nattest.Play{Fault: nattest.Invalid}, outcomes.FailExample, "--request"},
		"422, raised":    {nattest.Play{Fault: nattest.Raised}, outcomes.FailAgentExit, "boom"},
		"reset":          {nattest.Play{Lines: langchain(), Fault: nattest.Reset}, outcomes.FailAgentExit, "broke"},
		"no answer":      {nattest.Play{Lines: langchain()[:9]}, outcomes.FailAgentOutput, "without an answer"},
		"no steps":       {nattest.Play{Lines: []string{nattest.Value("x")}}, outcomes.FailNoCalls, "no call"},
		"missing ends":   {nattest.Play{Lines: []string{langchain()[4], nattest.Value("x")}}, outcomes.FailNoCalls, "no call"},
		"NaN":            {nattest.Play{Lines: split(nan)}, outcomes.FailBadLogprobs, "logprob 0"},
		"none":           {nattest.Play{Lines: split(without)}, outcomes.FailNoLogprobs, "logprobs: true"},
		"merged":         {nattest.Play{Lines: split(merged)}, outcomes.FailLogprobMismatch, "7 tokens has 2"},
		"half an answer": {nattest.Play{Lines: ends(`data: {"val`)}, outcomes.FailAgentOutput, "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			s := nattest.New(t, func(object) *nattest.Play { return &c.play })
			row := attempt(t, at(s.URL))
			if row.FailureClass != c.class || !strings.Contains(row.Error, c.says) {
				t.Errorf("%s: %s; want %s: %s", row.FailureClass, row.Error, c.class, c.says)
			}
		})
	}
}

func TestServersOfEveryAge(t *testing.T) {
	for name, s := range map[string]*nattest.Server{"old": {Old: true}, "new": {NoLegacy: true}, "neither": {Old: true, NoLegacy: true}} {
		t.Run(name, func(t *testing.T) {
			web := plays(t, langchain()...)
			web.Old, web.NoLegacy = s.Old, s.NoLegacy
			row := attempt(t, at(web.URL+"/generate"))
			if ok := row.Status == outcomes.StatusOK; ok == (name == "neither") {
				t.Errorf("%s %s", row.Status, row.Error)
			}
		})
	}
}

func TestABusyServerIsAskedAgain(t *testing.T) {
	for _, fault := range []string{nattest.Busy, nattest.TooMany} {
		s := nattest.New(t, func(object) *nattest.Play { return &nattest.Play{Lines: langchain(), Fault: fault} })
		if row := attempt(t, at(s.URL)); row.Status != outcomes.StatusOK || len(s.Asked()) != 3 {
			t.Errorf("%s: %s %s after %d requests", fault, row.Status, row.Error, len(s.Asked()))
		}
	}
}

// A prompt of megabytes is one line; a stream without end ends with its time.
func TestLongLinesAndEndlessStreams(t *testing.T) {
	big := strings.Repeat("long ", 500_000)
	lines := strings.Split(strings.ReplaceAll(strings.Join(langchain(), "\x00"), "2+3?", big), "\x00")
	if row := attempt(t, at(plays(t, lines...).URL)); row.Status != outcomes.StatusOK || len(row.Messages[0].Content) != len(big) {
		t.Errorf("%s %s", row.Status, row.Error)
	}
	s := nattest.New(t, func(object) *nattest.Play { return &nattest.Play{Lines: langchain(), Fault: nattest.Drip} })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := newAgent(t, at(s.URL)).Describe().Stored(ctx, agents.Attempt{Example: agenttest.Example(1)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an endless stream: %v", err)
	}
}

// TestLongStreamsDoNotWaitForEachOther: of four attempts, none ends before the
// workflows' server has sent most of each.
func TestLongStreamsDoNotWaitForEachOther(t *testing.T) {
	const attempts = 4
	var here, all sync.WaitGroup
	here.Add(attempts)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		piece := []byte(strings.Repeat("still here\n", 1<<20/11))
		for range 24 {
			_, _ = w.Write(piece)
		}
		here.Done()
		here.Wait()
		_, _ = io.WriteString(w, strings.Join(langchain(), "\n\n")+"\n\n")
	}))
	defer server.Close()
	for range attempts {
		all.Go(func() {
			if row := attempt(t, at(server.URL)); row.Status != outcomes.StatusOK {
				t.Errorf("%s %s", row.Status, row.Error)
			}
		})
	}
	all.Wait()
}

func TestContract(t *testing.T) {
	s := plays(t, langchain()...)
	agenttest.RunStored(t, nat.Kind, func(t *testing.T) agents.Agent {
		c := at(s.URL)
		c.Request = `{{if eq .id "ex-99"}}{{.missing}}{{end}}{"input_message": {{json .question}}}`
		a, err := c.Agent(t.Context(), c.Setup)
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
}

func TestWrongWordsAreRefused(t *testing.T) {
	with := func(change func(*nat.Settings)) config {
		c := at("http://c")
		change(&c.Settings)
		return c
	}
	for says, c := range map[string]config{
		"needs one URL":   {},
		"not an HTTP URL": at("localhost:8000"),
		"or a password":   at("http://a:b@c"),
		"looks like":      at("http://c?token=b"),
		"has a query":     at("http://c?a=b"),
		"--request":       with(func(s *nat.Settings) { s.Request = "{{" }),
		"--result-path":   with(func(s *nat.Settings) { s.ResultPath = "$.[" }),
	} {
		if _, err := c.Agent(t.Context(), c.Setup); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if text, _ := json.Marshal(newAgent(t, at("http://c/generate/full/")).Describe().Params); !strings.Contains(string(text), `"path":"/"`) {
		t.Errorf("%s", text)
	}
}
