package nat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// The steps from which an attempt is rebuilt; the server is asked for no
// others. Any START may be the parent of a step.
var wanted = []string{"LLM_START", "LLM_END", "TTC_END", "FUNCTION_START", "WORKFLOW_START", "TOOL_START", "TASK_START", "TTC_START", "CUSTOM_START", "SPAN_START"}

// step is one intermediate step.
type step struct {
	id, parent string
	kind       string // LLM_START ...
	name       string // of the model, the tool or the function
	time       float64
	framework  string
	data       struct {
		Input   json.RawMessage
		Output  json.RawMessage
		Payload json.RawMessage

		TurnID         string   `json:"turn_id"`
		TurnIndex      *int     `json:"turn_index"`
		CandidateIndex *int     `json:"candidate_index"`
		Score          *float64 `json:"score"`
	}
	tools      json.RawMessage // the definitions, as metadata has them
	prompt     int32           // tokens
	completion int32
	cached     int32
}

// readStep reads a step's envelope and the JSON text within it; ok is false for
// anything else.
func readStep(line []byte) (s step, ok bool) {
	var envelope struct {
		ID       string
		ParentID string `json:"parent_id"`
		Type     string
		Name     string
		Payload  string
	}
	if json.Unmarshal(line, &envelope) != nil {
		return s, false
	}
	var p struct {
		Time      float64 `json:"event_timestamp"`
		Framework string
		Name      string
		Metadata  struct {
			Tools json.RawMessage `json:"tools_schema"`
		}
		Data  json.RawMessage
		Usage struct {
			Tokens struct {
				Prompt     int32 `json:"prompt_tokens"`
				Completion int32 `json:"completion_tokens"`
				Cached     int32 `json:"cached_tokens"`
			} `json:"token_usage"`
		} `json:"usage_info"`
	}
	if json.Unmarshal(finite([]byte(envelope.Payload)), &p) != nil {
		return s, false
	}
	s = step{id: envelope.ID, parent: envelope.ParentID, kind: envelope.Type, name: envelope.Name, time: p.Time, framework: p.Framework,
		tools: p.Metadata.Tools, prompt: max(0, p.Usage.Tokens.Prompt), completion: max(0, p.Usage.Tokens.Completion), cached: max(0, p.Usage.Tokens.Cached)}
	if s.name == "" {
		s.name = p.Name
	}
	if len(p.Data) > 0 && json.Unmarshal(p.Data, &s.data) != nil {
		return s, false
	}
	return s, true
}

// finite replaces Python's NaN and Infinity, which are not JSON, by null.
func finite(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	out := make([]byte, 0, len(text))
	quoted := false
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case quoted && text[i] == '\\' && i+1 < len(text):
			out = append(out, text[i])
			i++
		case text[i] == '"':
			quoted = !quoted
		case quoted:
		case bytes.HasPrefix(rest, []byte("-Infinity")), bytes.HasPrefix(rest, []byte("Infinity")), bytes.HasPrefix(rest, []byte("NaN")):
			out = append(out, "null"...)
			i += map[byte]int{'-': 8, 'I': 7, 'N': 2}[text[i]]
			continue
		}
		out = append(out, text[i])
	}
	return out
}

// call is one request to a model: the steps that share an id.
type call struct {
	start, end *step // nil when it did not come
	function   string
	alias      string // another name of the function, or ""
}

// calls pairs the steps of each model call, in the order in which the calls
// began. Steps are queued by the server's background tasks, so the order of
// arrival means little.
func calls(steps []step) []*call {
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.time, b.time) })
	ancestry := ancestry(steps)
	byID := map[string]*call{}
	var out []*call
	for i := range steps {
		s := &steps[i]
		if s.kind != "LLM_START" && s.kind != "LLM_END" {
			continue
		}
		c := byID[s.id]
		if c == nil || s.kind == "LLM_START" && c.start != nil {
			c = &call{}
			c.function, c.alias = ancestry.of(s)
			byID[s.id], out = c, append(out, c)
		}
		if s.kind == "LLM_START" {
			c.start = s
		} else {
			c.end = s
		}
	}
	return out
}

// spans are the steps that may be parents of others, by id.
type spans map[string]*step

func ancestry(steps []step) spans {
	out := spans{}
	for i := range steps {
		if strings.HasSuffix(steps[i].kind, "_START") {
			out[steps[i].id] = &steps[i]
		}
	}
	return out
}

// The functions that are not named by a FUNCTION step.
const (
	workflow = "<workflow>" // the workflow's own
	root     = "root"       // of a step above which there is none
)

// of returns the function in which a step began, and the workflow's own name if
// it is the workflow: the stream does not say so, but it names each step's
// parent. The chains that a framework runs within a function are logged as
// functions too; they name their framework, and the toolkit's functions have
// none.
func (f spans) of(s *step) (name, alias string) {
	for range len(f) + 1 { // parents might go in circles
		parent := f[s.parent]
		switch {
		case parent == nil || parent == s:
			return root, ""
		case parent.kind == "WORKFLOW_START":
			return workflow, parent.name
		case parent.kind == "FUNCTION_START" && parent.framework == "":
			return parent.name, ""
		}
		s = parent
	}
	return root, ""
}
