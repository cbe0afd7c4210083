package nat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/foreign/nat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// maxStream is the most that one attempt's stream may hold.
const maxStream = 128 << 20

type stream struct {
	values []json.RawMessage // pieces of the answer, in order
	steps  []nat.Step        // in the order of their arrival
	trace  string            // the server's id of the run, or ""
	failed *agents.Failure   // the workflow's own, or nil
}

// readStream reads a /full stream: records of one line, whose first word before
// the colon is the kind. A workflow that fails reports that in the stream,
// after status 200. An error means that the stream broke; the part before it is
// returned as well.
func readStream(src io.Reader) (*stream, error) {
	s := &stream{}
	in := bufio.NewReaderSize(completion.EventStream(io.LimitReader(src, maxStream+1)), 64<<10)
	event, total := "", 0
	for {
		line, err := in.ReadBytes('\n') // lines may be megabytes: whole prompts
		if total += len(line); total > maxStream {
			return s, fmt.Errorf("the stream is longer than %d MiB", maxStream>>20)
		}
		if line = bytes.TrimRight(line, "\n"); len(line) > 0 {
			event = s.record(line, event)
		} else {
			event = ""
		}
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
	}
}

// record reads one line, and returns the event that the next line belongs to.
func (s *stream) record(line []byte, event string) string {
	name, rest, found := bytes.Cut(line, []byte(": "))
	switch {
	case line[0] == '{':
		s.fail(line)
	case !found:
	case string(name) == "event":
		return string(rest)
	case string(name) == "data" && event == "error":
		s.fail(rest)
	case string(name) == "data" && event != "" && s.failed == nil:
		s.failed = agents.Failf(outcomes.FailAgentExit, "the workflow waits for a person (%s), and no person answers in a rollout", event)
	case string(name) == "data":
		s.data(rest)
	case string(name) == "intermediate_data":
		if one, ok := nat.ReadStep(rest); ok {
			s.steps = append(s.steps, one)
		}
	case string(name) == "observability_trace":
		var t struct {
			ID string `json:"observability_trace_id"`
		}
		if json.Unmarshal(rest, &t) == nil {
			s.trace = t.ID
		}
	}
	return event
}

func (s *stream) data(line []byte) {
	var d struct {
		Value json.RawMessage
		Code  string
	}
	standard, lost := jsontext.Mend(line)
	if err := json.Unmarshal(standard, &d); err != nil {
		s.failed = agents.Failf(outcomes.FailAgentOutput, "a piece of the answer is no JSON: %.200s", line)
		return
	}
	if d.Value == nil && d.Code != "" {
		s.fail(line)
		return
	}
	if len(lost) > 0 {
		d.Value = jsontext.ParseObject(line).Get("value") // as the workflow wrote it: an answer is text
	}
	s.values = append(s.values, d.Value)
}

func (s *stream) fail(line []byte) {
	var e struct{ Code, Message, Details string }
	if json.Unmarshal(line, &e) != nil || e.Message == "" {
		s.failed = agents.Failf(outcomes.FailAgentOutput, "the stream ends in %.200s", line)
		return
	}
	text := e.Message
	if e.Details != "" {
		text += " (" + e.Details + ")"
	}
	s.failed = agents.Failf(outcomes.FailAgentExit, "the workflow failed: %s: %s", e.Code, text)
}

// answer returns the workflow's answer: its pieces joined, or its single JSON
// value.
func (s *stream) answer() (text string, value any) {
	var b strings.Builder
	for _, v := range s.values {
		var piece string
		if json.Unmarshal(v, &piece) != nil {
			piece = string(v)
		}
		b.WriteString(piece)
	}
	text = b.String()
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	return text, value
}
