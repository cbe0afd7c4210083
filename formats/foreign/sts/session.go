package sts

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

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

func (l *line) kind() string { return jsontext.Unquote(l.Get("type")) }

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

// input adds a message that the model did not generate after another one; -1 for a root.
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
