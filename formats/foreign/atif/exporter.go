package atif

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// Exporter writes documents of the Agent Trajectory Interchange Format,
// version 1.7, or 1.8 with audio: docs/rfcs/0001-trajectory-format.md of harbor-framework/harbor. A
// trajectory is one JSON document.
//
//   - The main path is the steps. A system or developer message is a step of
//     source system. The answers of tools are the observation of the step that
//     called them.
//   - A sampled step has the numbers of tokens of its call, and the ids and log
//     probabilities of its completion. prompt_token_ids is the whole prompt, as
//     the format requires; a row stores only the end of each prompt.
//   - Every other branch is an embedded trajectory. Its steps that were on an
//     earlier path are marked as copied context, and so is an answer that the model
//     did not give in this trajectory.
//   - What has no field is in extra, under our names. The document's extra has the
//     ids, the rewards, the example, candidates and tool sets; a step's has its
//     call, the texts of its tokens and what trains it.
//
// Arguments of a tool call that are not a JSON object are in its extra.
var Exporter = exporters.Format{
	Name: "atif", For: exporters.Viewing, Help: "documents of the Agent Trajectory Interchange Format, 1.7, or 1.8 with audio, one a trajectory",
	Of:      exporters.Rows,
	Exports: []exporters.Extension{exporters.Folder},
	Folder: exporters.Documents(".json", func(dst []byte, t *formats.Trajectory, x *exporters.Item) ([]byte, error) {
		return jsontext.AppendLine(dst, documentOf(t, x.Lose))
	}),
}

func documentOf(t *formats.Trajectory, lose func(string)) document {
	w := writer{t: t, lose: lose, written: make([]bool, len(t.Messages)), prompts: map[int][]int32{}}
	main := t.Main()
	d := document{
		SchemaVersion: schemaVersion, SessionID: t.TrajectoryID, TrajectoryID: t.TrajectoryID,
		Agent: agent{Name: "rollmill", Version: schema.Version, ModelName: t.Model, ToolDefinitions: w.tools(main)},
		Steps: w.steps(main), Extra: json.RawMessage(appendExtra(nil, w.row())),
		FinalMetrics: &finalMetrics{PromptTokens: int64(t.PromptTokens), CompletionTokens: int64(t.CompletionTokens)},
	}
	d.FinalMetrics.Steps = len(d.Steps)
	for i := range t.Calls {
		d.FinalMetrics.CachedTokens += int64(t.Calls[i].CachedTokens)
	}
	last := main[len(main)-1]
	for _, leaf := range t.Leaves() {
		if leaf != last {
			d.Subagents = append(d.Subagents, w.branch(leaf, d.Agent, len(d.Subagents)+1))
		}
	}
	if w.audio {
		d.SchemaVersion = audioVersion
		for i := range d.Subagents {
			d.Subagents[i].SchemaVersion = audioVersion
		}
	}
	return d
}

// row returns what the document has no fields for.
func (w *writer) row() *row {
	t := w.t
	answered := make([]bool, len(t.Calls))
	for i := range t.Messages {
		if c := t.Messages[i].Call; c >= 0 && int(c) < len(answered) {
			answered[c] = true
		}
	}
	r := &row{
		Run: t.Run, ExampleID: t.ExampleID, Epoch: t.Epoch, Generation: t.Generation, GroupID: t.GroupID,
		Example: t.Example, Answer: t.Answer, Status: t.Status, StopReason: t.StopReason, FailureClass: t.FailureClass,
		Error: t.Error, PolicyVersion: t.PolicyVersion, TokenSource: t.TokenSource, Reward: t.Reward, Rewards: t.Rewards,
		ShapedRewards: t.ShapedRewards, Advantage: t.Advantage, ToolSets: t.ToolSets, Candidates: t.Candidates,
		StartedAt: t.StartedAt, FinishedAt: t.FinishedAt, Metadata: t.Metadata,
	}
	for i := range t.Calls {
		if !answered[i] {
			r.Calls = append(r.Calls, t.Calls[i])
		}
	}
	return r
}
