// Package sts reads and writes session transcripts of coding agents, as the
// viewer of the Hugging Face hub shows them. Exporter and Importer say how.
package sts

import (
	"bytes"
	"fmt"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
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
