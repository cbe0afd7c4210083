// Package openenv reads what OpenEnv records of the calls and the episodes of an agent.
package openenv

import (
	"path"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Importer reads records of OpenEnv, which it tells by their members: the document of a
// capture session (turns, sequences), its trace entries (entries, or one of them), a
// HarborRolloutResult (turns, conversations), and lines of results.jsonl (episode_id,
// messages), with what metadata.json beside them says.
//
// A session is a trajectory, arranged as rollout's recorder arranges calls. A call trains
// if a trainable sequence of role agent holds it, where its mask is 1. A mask of a part of
// an answer stays with the message, and its row does not train unless a person accepts that.
var Importer = importers.Format{
	Name:       "openenv",
	Help:       "capture documents, trace entries, Harbor rollouts and results.jsonl of OpenEnv",
	Spec:       "huggingface/OpenEnv: src/openenv/core/harness/capture/export.py and collect.py, harbor/models.py",
	Extensions: []string{".json", ".jsonl"},
	Skip:       func(name string) bool { return path.Base(name) == ofRun || strings.HasSuffix(name, ".bak.jsonl") },
	Companions: ofRun,
	Records:    records,
}.ParsedBy(parse)

const ofRun = "metadata.json" // what the caller of a collection says of it

func records(f importers.File, yield func(importers.Record) bool) (err error) {
	var run []byte
	for _, c := range f.Companions {
		if run, err = c.Read(); err != nil {
			return err
		}
	}
	return importers.Rows(f, func(r importers.Record) bool {
		r.Context = run
		return yield(r)
	})
}

func parse(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	var x importers.Item
	switch row := &x.Row; {
	case o.Has("turns") && o.Has("sequences"):
		readDocument(row, o)
	case o.Has("turns") && o.Has("conversations"):
		readResult(row, o)
	case o.Has("entries"):
		readEntries(row, o)
	case o.Has("request") && o.Has("completion_token_ids"):
		readEntries(row, jsontext.Object{{Key: "entries", Raw: value.Join([][]byte{o.Bytes()})}})
		row.TrajectoryID = must.Text("node_id", must.Object("metadata", o.Get("metadata")).Get("node_id"))
	case o.Has("episode_id") && o.Has("messages"):
		readEpisode(row, o, value.Context(r))
	default:
		must.Fail("it has neither turns with sequences or conversations, nor entries, nor an episode_id with messages")
	}
	if len(x.Row.Calls) == 0 && x.Row.Status != outcomes.StatusFailed {
		importers.Fail(&x.Row, outcomes.FailNoCalls, "it has no call of a model")
	}
	return []importers.Item{x}, nil
}

// readEpisode reads an episode. As many of its last answers are sampled as metrics.turns
// says; those before are the task's.
func readEpisode(row *formats.Trajectory, o, run jsontext.Object) {
	var d importers.Draft
	messages, from := value.Messages("messages", o.Get("messages")), 0
	if n := must.Whole("metrics.turns", must.Object("metrics", o.Get("metrics")).Get("turns")); n != nil {
		left := *n
		for from = len(messages); from > 0 && left > 0; from-- {
			if messages[from-1].Role == "assistant" {
				left--
			}
		}
		if left != 0 {
			must.Fail("metrics.turns is %d, which are %d more than the messages have answers", *n, left)
		}
	}
	for i, m := range messages {
		if d.Meta.NonEmptyOfMessage(i, m.Others); m.Role == "assistant" && i >= from {
			d.Sampled(m.Message, formats.Call{Target: true})
		} else {
			d.Input(m.Message)
		}
	}
	row.TrajectoryID, row.ExampleID = must.Text("episode_id", o.Get("episode_id")), value.ID(o.Get("task"))
	row.Example = jsontext.Compact(jsontext.Object{{Key: "task", Raw: value.OrNull(o.Get("task"))}}.Bytes())
	row.Reward = must.Number("reward", o.Get("reward"))
	d.Meta.AddRest(o, "episode_id", "messages", "reward", "task", "done")
	d.Meta.Add("run_metadata", run.Bytes())
	if d.Into(row); !jsontext.IsTrue(o.Get("done")) { // neither the agent nor the environment ended it
		row.Status, row.StopReason = outcomes.StatusTruncated, outcomes.StopTurns
	}
}
