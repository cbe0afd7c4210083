package verifiers

import (
	"cmp"
	"encoding/json"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Exporter writes traces.jsonl of PrimeIntellect-ai/verifiers: an
// Episode with one Trace a line, as verifiers/v1/episode.py, trace.py and
// graph.py define them (version 1 of the trace, verifiers 0.4). WireEpisode
// reads it, and so does prime-rl.
//
//   - nodes are our messages. A node has the tokens that it adds: a sampled one
//     the end of its prompt, and then what was sampled. mask is true for tokens
//     that train; these have a log probability and an advantage.
//   - A prompt that does not continue the turn before it (prefix_break) begins
//     another path there: its earlier messages are repeated as nodes without
//     tokens.
//   - rewards are ours by name; the example is task.data.example; info has, under our
//     names, what has no field: the total reward, metadata, candidates, ...
//
// A part of a prompt's message for which the form has no field (a participant's
// name, an assistant's images) is refused, or dropped.
var Exporter = exporters.Format{
	Name: "verifiers", Help: "episodes of verifiers and prime-rl (traces.jsonl): message graphs with tokens, masks, " +
		"rewards, advantages", For: exporters.Viewing, Of: exporters.Rows, Exports: []exporters.Extension{exporters.JSONL},
	Credit: exporters.OfTokens,
	Lines: exporters.Lines(exporters.EachRow(func(t *formats.Trajectory, x *exporters.Item) episode {
		return episodeOf(t, x.Lose)
	})),
}

type episode struct {
	ID        string    `json:"id"`
	Env       ref       `json:"env"`
	Task      task      `json:"task"`
	Group     *ref      `json:"group,omitempty"`
	Run       run       `json:"run"`
	OK        bool      `json:"ok"`
	IsTimeout bool      `json:"is_timeout"`
	Errors    []failure `json:"errors"`
	Traces    []trace   `json:"traces"`
}

type ref struct {
	ID string `json:"id"`
}

type task struct {
	Type string   `json:"type"`
	Data taskData `json:"data"`
	Key  string   `json:"key"`
}

type taskData struct {
	ID      string          `json:"id"`
	Example json.RawMessage `json:"example,omitempty"`
}

type run struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Work work   `json:"work"`
}

type work struct {
	Type   string  `json:"type"`
	Step   int32   `json:"step"`
	Policy *policy `json:"policy,omitempty"`
}

type policy struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type trace struct {
	Version       int                `json:"version"`
	ID            string             `json:"id"`
	Verifiers     map[string]string  `json:"verifiers"`
	Task          task               `json:"task"`
	Agent         agent              `json:"agent"`
	Tools         []tool             `json:"tools"`
	Nodes         []node             `json:"nodes"`
	Calls         []call             `json:"calls"`
	Rewards       map[string]*reward `json:"rewards"`
	Info          json.RawMessage    `json:"info"`
	IsCompleted   bool               `json:"is_completed"`
	OK            bool               `json:"ok"`
	StopCondition string             `json:"stop_condition"`
	IsTimeout     bool               `json:"is_timeout"`
	Errors        []failure          `json:"errors"`
	Timing        timing             `json:"timing"`
}

type agent struct {
	Config    map[string]any `json:"config"`
	Name      string         `json:"name"`
	Trainable bool           `json:"trainable"`
}

type reward struct {
	Score  jsontext.Float `json:"score"`
	Weight jsontext.Float `json:"weight"`
}

type span struct {
	Start jsontext.Float `json:"start"`
	End   jsontext.Float `json:"end"`
}

type timing struct {
	Start jsontext.Float `json:"start"`
	Agent span           `json:"agent"`
}

// info is the part of a row that a trace has no fields for.
type info struct {
	Generation    int32               `parquet:"generation"`
	Reward        *float64            `parquet:"reward,optional"`
	Advantage     *float64            `parquet:"advantage,optional"`
	ShapedRewards []float64           `parquet:"shaped_rewards,optional,list"`
	Failures      []named             `parquet:"reward_failures,optional,list"`
	Answer        string              `parquet:"answer,optional"`
	Status        string              `parquet:"status"`
	StopReason    string              `parquet:"stop_reason"`
	FailureClass  string              `parquet:"failure_class,optional"`
	TokenSource   string              `parquet:"token_source,optional"`
	ToolSets      []string            `parquet:"tool_sets,optional,list"`
	Candidates    []formats.Candidate `parquet:"candidates,optional,list"`
	Calls         []formats.Call      `parquet:"calls,optional,list"`
	Metadata      string              `parquet:"metadata,optional"`
}

type named struct {
	Name    string `parquet:"name"`
	Failure string `parquet:"failure,optional"`
	Error   string `parquet:"error,optional"`
}

var appendInfo = jsontext.Rows[info]()

func episodeOf(t *formats.Trajectory, lose func(string)) episode {
	e := episode{
		ID: t.TrajectoryID, Env: ref{"rollmill"},
		Task: task{Type: "Task", Data: taskData{t.ExampleID, chat.Object(t.Example)}, Key: t.ExampleID},
		Run:  run{"train", t.Run, work{Type: "train", Step: t.Epoch}}, OK: t.Status == outcomes.StatusOK ||
			t.Status == outcomes.StatusTruncated, Errors: []failure{},
	}
	if t.Example != "" && e.Task.Data.Example == nil {
		lose("an example that is not a JSON object")
	}
	if t.GroupID != "" {
		e.Group = &ref{t.GroupID}
	}
	if v := t.PolicyVersion; v != nil {
		e.Run.Work.Policy = &policy{*v, *v}
	}
	e.Traces = []trace{traceOf(t, &e, lose)}
	return e
}

// stops are the conditions of verifiers, by stop reason; others keep their name.
var stops = map[string]string{
	outcomes.StopDone: "agent_completed", outcomes.StopTurns: "max_turns", outcomes.StopMaxCalls: "max_turns",
	outcomes.StopMaxTokens: "max_total_tokens",
	outcomes.StopLength:    "max_output_tokens", outcomes.StopTimeout: "agent_timeout",
}

func traceOf(t *formats.Trajectory, e *episode, lose func(string)) trace {
	start := jsontext.Float(float64(t.StartedAt) / 1e6)
	tr := trace{
		Version: 1, ID: t.TrajectoryID, Verifiers: map[string]string{"version": "0.4.0"}, Task: e.Task,
		Agent:       agent{map[string]any{}, "agent", true},
		IsCompleted: t.Status != outcomes.StatusSkipped, OK: e.OK, StopCondition: cmp.Or(stops[t.StopReason], t.StopReason),
		IsTimeout: t.StopReason == outcomes.StopTimeout, Errors: []failure{},
		Timing: timing{start, span{start, jsontext.Float(float64(t.FinishedAt) / 1e6)}}, Rewards: rewardsOf(t, lose),
	}
	if t.Error != "" || t.FailureClass != "" {
		tr.Errors = append(tr.Errors, failure{t.FailureClass, t.Error})
	}
	g := graphWriter{t: t, lose: lose, at: make([]int, len(t.Messages)), started: start}
	g.build()
	tr.Nodes, tr.Calls, tr.Tools = g.nodes, g.calls(), g.tools
	tr.Info = appendInfo(nil, infoOf(t))
	return tr
}

// rewardsOf returns the components by name; a total without components is one.
func rewardsOf(t *formats.Trajectory, lose func(string)) map[string]*reward {
	out := map[string]*reward{}
	for _, r := range t.Rewards {
		if _, twice := out[r.Name]; twice {
			lose("two rewards of one name")
		}
		if out[r.Name] = nil; r.Value != nil && finite(*r.Value) && finite(r.Weight) {
			out[r.Name] = &reward{jsontext.Float(*r.Value), jsontext.Float(r.Weight)}
		}
	}
	if len(out) == 0 && t.Reward != nil && finite(*t.Reward) {
		out["reward"] = &reward{jsontext.Float(*t.Reward), 1}
	}
	return out
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func infoOf(t *formats.Trajectory) *info {
	out := &info{Generation: t.Generation, Reward: t.Reward, Advantage: t.Advantage, ShapedRewards: t.ShapedRewards,
		Answer: t.Answer, Status: t.Status,
		StopReason: t.StopReason, FailureClass: t.FailureClass, TokenSource: t.TokenSource, ToolSets: t.ToolSets,
		Candidates: t.Candidates, Calls: t.Calls, Metadata: t.Metadata}
	for _, r := range t.Rewards {
		if r.Failure != "" || r.Error != "" {
			out.Failures = append(out.Failures, named{r.Name, r.Failure, r.Error})
		}
	}
	return out
}
