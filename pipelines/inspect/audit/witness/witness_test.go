package witness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/atif"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/pipelines/inspect/audit/witness"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// object is JSON.
type object = map[string]any

// attempts and turns are how much is recorded: each attempt asks for a title without tools, then calls a
// tool in every turn but the last.
const attempts, turns = 4, 5

// record lets an agent ask a real engine through the recorder, and returns the rows.
func record(t *testing.T) (rows []formats.Trajectory) {
	t.Helper()
	attempt := 0
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
		n := len(q.Messages) / 2
		switch {
		case q.Fields["tools"] == nil:
			return recordertest.Reply{Content: "A title"}
		case n == turns:
			return recordertest.Reply{Content: fmt.Sprintf("Attempt %d is done.", attempt)}
		}
		return recordertest.Reply{Content: fmt.Sprintf("I look at %d.", n), ToolCalls: []formats.ToolCall{{ID: fmt.Sprintf("call_%d", n), Name: "look",
			Arguments: fmt.Sprintf(`{"page": %d, "attempt": %d}`, n, attempt)}}}
	}}
	e.Start(t)
	r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{e.URL()}, Backoff: time.Millisecond},
		Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for ; attempt < attempts; attempt++ {
		id := formats.TrajectoryID("run", "task", 0, attempt)
		s := r.Begin(t.Context(), id, "task")
		ask(t, s, object{"messages": []object{{"role": "user", "content": "Name the conversation."}}})
		messages := []object{{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Read the book."}}
		for range turns {
			answer := ask(t, s, object{"messages": messages, "tools": []object{{"type": "function", "function": object{"name": "look"}}}})
			messages = append(messages, answer)
			if calls, _ := answer["tool_calls"].([]any); len(calls) > 0 {
				messages = append(messages, object{"role": "tool", "tool_call_id": calls[0].(object)["id"], "content": fmt.Sprint("page ", len(messages))})
			}
		}
		rec := s.End()
		row := formats.Trajectory{TrajectoryID: id, Run: "run", ExampleID: "task", Generation: int32(attempt), Example: `{"id":"task"}`,
			Messages: rec.Messages, Calls: rec.Calls, ToolSets: rec.ToolSets, TokenSource: rec.TokenSource, Status: outcomes.StatusOK,
			StopReason: outcomes.StopDone, Model: "policy", Attempts: 1}
		row.Calls[0].Target = false // as an agent's title
		reward := float64(attempt)
		row.Reward, row.Rewards = &reward, []formats.NamedReward{{Name: "exact", Value: &reward, Weight: 1}}
		row.SetTotals()
		row.SetPayloadDigest()
		rows = append(rows, row)
	}
	return rows
}

func ask(t *testing.T, s *recorder.Session, body object) object {
	t.Helper()
	body["model"] = "policy"
	data, _ := json.Marshal(body)
	resp, err := http.Post(s.BaseURL()+"/chat/completions", "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct{ Choices []struct{ Message object } }
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || len(a.Choices) != 1 {
		t.Fatal(err, a)
	}
	return a.Choices[0].Message
}

func write(t *testing.T, uri string, rows []formats.Trajectory) *dataset.Dataset {
	t.Helper()
	s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Params: map[string]any{"uri": uri}}, shards.Options{})
	if err == nil {
		err = shards.NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), rows)
	}
	if err == nil {
		_, err = s.Commit(t.Context(), shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return open(t, uri)
}

func open(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// export returns the documents of a dataset's export as ATIF.
func export(t *testing.T, d *dataset.Dataset) (texts [][]byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "atif")
	if _, err := convert.Export(t.Context(), convert.ExportOptions{In: d.Address, Out: dir, To: []exporters.File{{Name: "atif", File: "atif", Extension: exporters.Folder, Format: atif.Exporter}}}); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}

// parsed returns the documents in the order of the attempts.
func parsed(t *testing.T, texts [][]byte) (docs []object) {
	t.Helper()
	for _, text := range texts {
		var doc object
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	slices.SortFunc(docs, func(a, b object) int { return int(generation(a) - generation(b)) })
	return docs
}

func generation(doc object) float64 { return doc["extra"].(object)["generation"].(float64) }

type content struct{ *strings.Reader }

func (content) Close() error { return nil }

// imported imports ATIF documents.
func imported(t *testing.T, uri string, docs []object) *dataset.Dataset {
	t.Helper()
	var lines strings.Builder
	for _, doc := range docs {
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	o := convert.ImportDefaults()
	o.Format, o.Source, o.Run, o.Out = atif.Importer, manifest.Ref{Role: "source", URI: "files"}, "harness", stages.Output{URI: uri}
	o.Files = []convert.File{{Name: "docs.jsonl", URI: "docs.jsonl", Open: func(context.Context) (convert.Content, error) {
		return content{strings.NewReader(lines.String())}, nil
	}}}
	if _, err := convert.Import(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return open(t, uri)
}

func steps(doc object) []any { return doc["steps"].([]any) }

// agentSteps returns the indexes of an agent's steps.
func agentSteps(doc object) (at []int) {
	for i, s := range steps(doc) {
		if s.(object)["source"] == "agent" {
			at = append(at, i)
		}
	}
	return at
}

// turn returns the n-th step of the agent.
func turn(doc object, n int) object { return steps(doc)[agentSteps(doc)[n]].(object) }

func metrics(doc object, n int) object { return turn(doc, n)["metrics"].(object) }

func drop(doc object, n int) {
	i := agentSteps(doc)[n]
	doc["steps"] = slices.Delete(steps(doc), i, i+1)
}

func result(doc object, n int) object {
	return turn(doc, n)["observation"].(object)["results"].([]any)[0].(object)
}

// one and all change one document, or all.
func one(f func(doc object)) func([]object) []object {
	return func(docs []object) []object { f(docs[2]); return docs }
}

func all(f func(doc object)) func([]object) []object {
	return func(docs []object) []object {
		for _, doc := range docs {
			f(doc)
		}
		return docs
	}
}

func metric(n int, name string, change func(v any) any) func(doc object) {
	return func(doc object) { m := metrics(doc, n); m[name] = change(m[name]) }
}

func rotate(name string) func(doc object) {
	return func(doc object) {
		last := metrics(doc, turns-1)[name]
		for n := turns - 1; n > 0; n-- {
			metrics(doc, n)[name] = metrics(doc, n-1)[name]
		}
		metrics(doc, 0)[name] = last
	}
}

// damages are what may be wrong with a harness's own record. Each has exactly these findings.
var damages = []struct {
	name   string
	damage func([]object) []object
	want   []string // check, count and what it says
}{
	{"nothing", all(func(object) {}), nil},
	{"another order of documents", func(d []object) []object { slices.Reverse(d); return d }, nil},
	{"the first call dropped", one(func(d object) { drop(d, 0) }), []string{"witness_calls 1 calls: only the other record has them: 1 the first"}},
	{"a call in the middle dropped", one(func(d object) { drop(d, 2) }), []string{"witness_calls 1 calls: only the other record has them: 1 in the middle"}},
	{"the last call dropped", one(func(d object) { drop(d, turns-1) }), []string{"witness_calls 1 calls: only the other record has them: 1 the last"}},
	{"two calls dropped", one(func(d object) { drop(d, 3); drop(d, 1) }), []string{"witness_calls 2 calls: only the other record has them: 2 in the middle"}},
	{"a call twice", one(func(d object) { d["steps"] = slices.Insert(steps(d), agentSteps(d)[1], any(turn(d, 1))) }),
		[]string{"witness_retries 1 retries: only the other record has them"}},
	{"every turn one later", all(func(d object) {
		drop(d, 0)
		d["steps"] = append(steps(d), object{"step_id": 9, "source": "agent", "message": fmt.Sprint("more ", generation(d))})
	}), []string{"witness_shift 4 the turns of answers: the records differ"}},
	{"two turns in another order", one(func(d object) {
		x, y := agentSteps(d)[1], agentSteps(d)[2]
		steps(d)[x], steps(d)[y] = steps(d)[y], steps(d)[x]
	}), []string{"witness_shift 1 the turns of single answers: the records differ"}},
	{"tokens of the turn before", all(func(d object) { rotate("completion_token_ids")(d); rotate("logprobs")(d) }), []string{
		"witness_shift 4 the turns of logprobs: the records differ", "witness_shift 4 the turns of token ids: the records differ"}},
	{"prompts counted as of the turn before", all(rotate("prompt_tokens")), []string{"witness_shift 4 the turns of prompt tokens: the records differ"}},
	{"system as user", one(func(d object) { steps(d)[0].(object)["source"] = "user" }), []string{"witness_roles 1 roles: the records differ: 1 system and user"}},
	{"a result as user", one(func(d object) { delete(result(d, 1), "source_call_id") }), []string{"witness_roles 1 roles: the records differ: 1 tool and user"}},
	{"a result changed", one(func(d object) { result(d, 1)["content"] = "page 5 was cut" }), []string{"witness_tools 1 tool results: the records differ"}},
	{"a result missing", one(func(d object) { delete(turn(d, 1), "observation") }), []string{"witness_tools 1 tool results: only the other record has them"}},
	{"no results at all", all(func(d object) {
		for n := range turns - 1 {
			delete(turn(d, n), "observation")
		}
	}), []string{"witness_silent 16 tool results: this record has none, and those of the other one are not compared"}},
	{"a text changed", one(func(d object) { turn(d, 1)["message"] = "I look elsewhere." }), []string{"witness_answers 1 answers: the records differ"}},
	{"space around a text", one(func(d object) { turn(d, 1)["message"] = " I look at 2.\n" }), nil},
	{"a thought in a text", one(func(d object) { turn(d, 1)["message"] = "<think>Which?</think>I look at 2." }), nil},
	{"a thought beside a text", one(func(d object) { turn(d, 1)["reasoning_content"] = "Which?" }), nil},
	{"a text as parts", one(func(d object) {
		turn(d, 1)["message"] = []object{{"type": "text", "text": "I look "}, {"type": "text", "text": "at 2."}}
	}), nil},
	{"no text beside a tool call", one(func(d object) { turn(d, 1)["message"] = "" }), nil},
	{"an argument changed", one(func(d object) {
		turn(d, 1)["tool_calls"].([]any)[0].(object)["arguments"] = object{"page": 3, "attempt": 2}
	}),
		[]string{"witness_tools 1 tool calls: the records differ"}},
	{"an argument's spelling", one(func(d object) {
		turn(d, 1)["tool_calls"].([]any)[0].(object)["arguments"] = json.RawMessage(`{"attempt":2.0,   "page":2}`)
	}), nil},
	{"another tool", one(func(d object) { turn(d, 1)["tool_calls"].([]any)[0].(object)["function_name"] = "listen" }),
		[]string{"witness_tools 1 tool calls: the records differ"}},
	{"a call of a tool missing", one(func(d object) { delete(turn(d, 1), "tool_calls"); delete(turn(d, 1), "observation") }), []string{
		"witness_tools 1 tool calls: only the other record has them", "witness_tools 1 tool results: only the other record has them"}},
	{"tokens counted differently", one(metric(1, "completion_tokens", func(any) any { return 7 })),
		[]string{"witness_tokens 1 completion tokens: the records differ"}},
	{"prompts counted differently", all(metric(1, "prompt_tokens", func(v any) any { return v.(float64) + 1 })),
		[]string{"witness_tokens 4 prompt tokens: the records differ"}},
	{"no counts at all", all(func(d object) {
		for _, doc := range append([]any{d}, d["subagent_trajectories"].([]any)...) {
			for n := range agentSteps(doc.(object)) {
				delete(metrics(doc.(object), n), "prompt_tokens")
				delete(metrics(doc.(object), n), "completion_tokens")
			}
		}
	}), []string{"witness_silent 24 completion tokens: this record has none, and those of the other one are not compared",
		"witness_silent 24 prompt tokens: this record has none, and those of the other one are not compared"}},
	{"an id changed", one(metric(1, "completion_token_ids", func(v any) any { v.([]any)[3] = 1; return v })),
		[]string{"witness_ids 1 token ids: the records differ"}},
	{"the last token missing", one(func(d object) {
		for _, name := range []string{"completion_token_ids", "logprobs"} {
			metric(1, name, func(v any) any { return v.([]any)[:len(v.([]any))-1] })(d)
		}
	}), []string{"witness_ids 1 token ids: the records differ", "witness_logprobs 1 logprobs: the records differ"}},
	{"the ids of a turn missing", one(func(d object) { delete(metrics(d, 1), "completion_token_ids") }),
		[]string{"witness_ids 1 token ids: only the other record has them"}},
	{"a logprob changed", one(metric(1, "logprobs", func(v any) any { v.([]any)[3] = v.([]any)[3].(float64) - 0.001; return v })),
		[]string{"witness_logprobs 1 logprobs: the records differ"}},
	{"logprobs rounded", all(metric(1, "logprobs", func(v any) any {
		for i, x := range v.([]any) {
			v.([]any)[i] = json.RawMessage(fmt.Sprintf("%.4f", x))
		}
		return v
	})), nil},
	{"a prompt changed", one(func(d object) { steps(d)[1].(object)["message"] = "Read the book. Today is Monday." }),
		[]string{"witness_prompts 1 prompts: the records differ"}},
	{"a system prompt missing", one(func(d object) { d["steps"] = steps(d)[1:] }),
		[]string{"witness_prompts 1 system prompts: only the other record has them"}},
	{"no system prompts", all(func(d object) { d["steps"] = steps(d)[1:] }),
		[]string{"witness_silent 4 system prompts: this record has none, and those of the other one are not compared"}},
	{"another reward", one(func(d object) { d["extra"].(object)["reward"] = 7 }), []string{"witness_rewards 1 reward: the records differ"}},
	{"another reward by name", one(func(d object) { d["extra"].(object)["rewards"].([]any)[0].(object)["value"] = 7 }),
		[]string{"witness_rewards 1 reward exact: the records differ"}},
	{"another status", one(func(d object) { d["extra"].(object)["status"] = "truncated" }), []string{"witness_status 1 status: the records differ"}},
	{"titles missing", all(func(d object) { delete(d, "subagent_trajectories") }),
		[]string{"witness_auxiliary 4 auxiliary calls: only the other record has them"}},
	{"a document missing", func(d []object) []object { return slices.Delete(d, 1, 2) },
		[]string{"witness_unjoined 1 rows are not compared: 1 without a counterpart"}},
	{"a document twice", func(d []object) []object { return append(d, d[1]) }, []string{
		"witness_unjoined 1 rows are not compared: 1 ambiguous", "witness_unjoined 2 rows are not compared: 2 ambiguous"}},
	{"another attempt", func(d []object) []object {
		for n := range turns {
			turn(d[1], n)["message"] = fmt.Sprint("something else ", n)
			delete(turn(d[1], n), "tool_calls")
		}
		d[1]["trajectory_id"], d[1]["session_id"] = "other", "other"
		return d
	}, []string{"witness_unjoined 1 rows are not compared: 1 without a counterpart", "witness_unjoined 1 rows are not compared: 1 without a counterpart"}},
}

// TestEachDamage makes one damage to a real second record of recorded attempts: their ATIF documents. Rows are
// joined by ids, by a field, and by what they say, and each has the same findings.
func TestEachDamage(t *testing.T) {
	own := write(t, "mem://witness/own", record(t))
	texts := export(t, own)
	for n, damage := range damages {
		for k, how := range []string{"ids", "field", "contents"} {
			if testing.Short() && k != n%3 {
				continue
			}
			t.Run(damage.name+"/"+how, func(t *testing.T) {
				docs := parsed(t, texts)
				if docs = damage.damage(docs); how != "ids" {
					for i, doc := range docs {
						id := fmt.Sprint("harness-", i)
						if damage.name == "a document twice" && i == attempts {
							continue // it has the id of the first
						}
						doc["extra"].(object)["ours"] = doc["trajectory_id"]
						if doc["trajectory_id"], doc["session_id"] = id, id; how == "contents" {
							delete(doc["extra"].(object), "ours")
						}
					}
				}
				o := witness.Options{In: own, Against: imported(t, fmt.Sprintf("mem://witness/%d/%s", n, how), docs)}
				if how == "field" {
					o.Join = "trajectory_id=metadata.extra.ours"
				}
				facts, found, err := witness.Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range found {
					got = append(got, fmt.Sprintf("%s %d %s", f.Check, f.Count, f.What))
				}
				slices.Sort(got)
				if diff := cmp.Diff(damage.want, got); diff != "" {
					t.Errorf("%s\n%s\n%s", diff, facts, listed(found))
				}
			})
		}
	}
}

// TestRetryAfterMissingCall: what the agent discarded is counted beside an answer that is missing too.
func TestRetryAfterMissingCall(t *testing.T) {
	rows := record(t)
	less := slices.Clone(rows)
	less[0].Messages = slices.Clone(rows[0].Messages[:len(rows[0].Messages)-1])
	rows[0].Candidates = []formats.Candidate{{Content: "tried before", Reason: outcomes.CandidateRetried}}
	_, found, err := witness.Run(t.Context(), witness.Options{In: write(t, "mem://witness-retry/own", rows), Against: write(t, "mem://witness-retry/other", less)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s %d %s", f.Check, f.Count, f.What))
	}
	slices.Sort(got)
	want := []string{"witness_calls 1 calls: only the other record has them: 1 the last", "witness_retries 1 retries: only the other record has them"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, listed(found))
	}
}

func listed(found []validate.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s\n", f.Check, f.URI)
		for _, p := range f.First {
			b.WriteString("   " + p.String() + "\n")
		}
	}
	return b.String()
}

// TestNothingIsNoAgreement: records of other attempts are an error, and no record without findings.
func TestNothingIsNoAgreement(t *testing.T) {
	own := write(t, "mem://witness-nothing/own", record(t))
	docs := parsed(t, export(t, own))[:1]
	for n := range turns {
		turn(docs[0], n)["message"] = fmt.Sprint("something else ", n)
	}
	docs[0]["trajectory_id"], docs[0]["session_id"] = "other", "other"
	other := imported(t, "mem://witness-nothing/other", docs)
	for _, join := range []string{"", "trajectory_id", "example_id", "metadata.session_id=metadata.session_id", "none", "metadata", "metadata.steps"} {
		_, _, err := witness.Run(t.Context(), witness.Options{In: own, Against: other, Join: join})
		if kind := fault.KindOf(err); kind != fault.Usage && !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", join, err)
		}
	}
}
