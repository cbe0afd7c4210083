// Package sts reads and writes session transcripts of coding agents, as the
// viewer of the Hugging Face hub shows them. Exporter and Importer say how.
package sts

import (
	"bytes"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// Importer reads session transcripts of coding agents, one session a file, as the
// trace viewer of the Hugging Face hub reads them: those of Claude Code, Codex and
// Pi in their own formats, and those of any other harness in the Session Trace
// Simple Format. The lines show which one it is.
//
// To add a harness: add a file like pi.go with a reader, and a line to dialects.
var Importer = importers.Format{
	Name:       "sts",
	Help:       "session transcripts of Claude Code, Codex and Pi, and the hub's Session Trace Simple Format",
	Spec:       "huggingface/hub-docs: docs/hub/session-traces-format.md and agent-traces.md",
	Extensions: []string{".jsonl"},
	Records:    importers.Document,
}.ParsedBy(parse)

// line is a line of a session.
type line struct {
	number int // from 1
	raw    []byte
	jsontext.Object
}

// read calls a function that reads the line.
func (l *line) read(with func(l *line)) {
	defer must.At("line %d", l.number)
	with(l)
}

// kind returns the line's type.
func (l *line) kind() string { return jsontext.Unquote(l.Get("type")) }

// dialects are the readers, by whether they know a line that only they write.
var dialects = []struct {
	knows func(first bool, l *line) bool
	read  func(s *session, lines []*line)
}{
	{func(first bool, l *line) bool {
		return l.kind() == "session" && (l.Has("harness") || l.Has("version") || l.Has("id"))
	}, readPi},
	{func(first bool, l *line) bool {
		return l.kind() == "session_meta" && l.Has("payload") || first && !l.Has("type") && l.Has("id") && l.Has("timestamp")
	}, readCodex},
	{func(first bool, l *line) bool {
		return (l.kind() == "user" || l.kind() == "assistant") && l.Has("message") && (l.Has("uuid") || l.Has("sessionId"))
	}, readClaude},
}

func parse(r *importers.Record) ([]importers.Item, error) {
	lines := split(r)
	for i, l := range lines {
		for _, d := range dialects {
			if !d.knows(i == 0, l) {
				continue
			}
			s := &session{record: r, nodes: map[string]int{}, parents: map[int]bool{}}
			d.read(s, lines)
			return []importers.Item{s.item()}, nil
		}
	}
	return nil, fmt.Errorf("none of %d lines is a session of Claude Code, Codex or Pi, or a header "+
		"{\"type\":\"session\",\"harness\":…,\"id\":…}", len(lines))
}

// split reads the lines, which are objects.
func split(r *importers.Record) (lines []*line) {
	number := 0
	for text := range bytes.Lines(r.Data) {
		number++
		if len(bytes.TrimSpace(text)) > 0 {
			l := &line{number: number}
			l.read(func(l *line) { l.raw = value.ObjectText(r, text) })
			l.Object = jsontext.ParseObject(l.raw)
			lines = append(lines, l)
		}
	}
	return lines
}

// session builds the trajectory of a session.
type session struct {
	importers.Draft
	record *importers.Record
	found  importers.Item
	others [][]byte // lines that are no messages

	nodes   map[string]int // the message of a line's id; -1 for none
	parents map[int]bool   // messages with a continuation, -1 for a root
	branch  string         // of the next message
	model   string         // of the main conversation
	failure string         // the class of a failure after which the model did not answer
	reason  string
}

// input adds a message that the model did not generate after another one; -1
// for a root.
func (s *session) input(m formats.Message, parent int) int {
	s.after(&m, parent)
	return s.Input(m)
}

// sampled adds an answer of the model.
func (s *session) sampled(m formats.Message, call formats.Call, parent int) int {
	s.after(&m, parent)
	s.failure, s.reason = "", ""
	return s.Sampled(m, call)
}

func (s *session) after(m *formats.Message, parent int) {
	switch {
	case s.branch != "":
		m.Branch, s.branch = s.branch, ""
	case s.parents[parent] && m.Role == "assistant":
		m.Branch = importers.BranchRetry
	case s.parents[parent]:
		m.Branch = importers.BranchHistory
	}
	s.parents[parent] = true
	s.Continue(parent)
}

// other keeps a line that is no message.
func (s *session) other(l *line) { s.others = append(s.others, l.raw) }

func (s *session) time(v []byte) { s.Times.Add(value.Micros(v)) }

// item returns the trajectory.
func (s *session) item() importers.Item {
	row := &s.found.Row
	if len(s.others) > 0 {
		s.Meta.Add("other_lines", value.Join(s.others))
	}
	s.Into(row)
	switch {
	case s.failure != "":
		importers.Fail(row, s.failure, s.reason)
		if s.failure == outcomes.FailCancelled {
			row.StopReason = outcomes.StopCancelled
		}
	case row.Status == outcomes.StatusFailed: // of a header, which has no class
		row.FailureClass, row.Reward = outcomes.FailInternal, nil
	case len(row.Calls) == 0 && row.Status == "":
		importers.Fail(row, outcomes.FailNoCalls, "the session has no answer of the model")
	}
	return s.found
}
