package nat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Step is one intermediate step.
type Step struct {
	ID, Parent string
	Kind       string // LLM_START ...
	Name       string // of the model, the tool or the function
	Time       float64
	Began      float64 // of a step at the end of a span; 0 when it does not say
	Framework  string
	Function   string // in which it was made; "" when only its parents say
	Invocation string // the id of that function's run
	Data       struct {
		Input   json.RawMessage
		Output  json.RawMessage
		Payload json.RawMessage

		TurnID         string   `json:"turn_id"`
		TurnIndex      *int     `json:"turn_index"`
		CandidateIndex *int     `json:"candidate_index"`
		Score          *float64 `json:"score"`
	}
	Tools      json.RawMessage // the definitions, as metadata has them
	Prompt     int32           // tokens
	Completion int32
	Cached     int32
}

// ReadStep reads a step as the server streams it: an envelope and the JSON text
// within it. ok is false for anything else.
func ReadStep(line []byte) (s Step, ok bool) {
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
	s = Step{ID: envelope.ID, Parent: envelope.ParentID, Kind: envelope.Type, Name: envelope.Name}
	return s, s.payload([]byte(envelope.Payload))
}

// ReadStoredStep reads a step as files hold it: NAT's IntermediateStep. ok is false
// for anything else.
func ReadStoredStep(raw []byte) (s Step, ok bool) {
	var stored struct {
		Parent   string `json:"parent_id"`
		Ancestry struct {
			ID   string `json:"function_id"`
			Name string `json:"function_name"`
		} `json:"function_ancestry"`
		Payload json.RawMessage
	}
	var p struct {
		ID    string   `json:"UUID"`
		Kind  string   `json:"event_type"`
		Began *float64 `json:"span_event_timestamp"`
	}
	if json.Unmarshal(raw, &stored) != nil || json.Unmarshal(stored.Payload, &p) != nil || p.Kind == "" {
		return s, false
	}
	s = Step{ID: p.ID, Parent: stored.Parent, Kind: p.Kind, Function: stored.Ancestry.Name, Invocation: stored.Ancestry.ID}
	if p.Began != nil {
		s.Began = *p.Began
	}
	return s, s.payload(stored.Payload)
}

// payload reads NAT's IntermediateStepPayload.
func (s *Step) payload(text []byte) bool {
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
	standard, _ := jsontext.Standard(text)
	if json.Unmarshal(standard, &p) != nil {
		return false
	}
	used := &p.Usage.Tokens
	s.Time, s.Framework, s.Name, s.Tools = p.Time, p.Framework, cmp.Or(s.Name, p.Name), p.Metadata.Tools
	s.Prompt, s.Completion, s.Cached = max(0, used.Prompt), max(0, used.Completion), max(0, used.Cached)
	return len(p.Data) == 0 || json.Unmarshal(p.Data, &s.Data) == nil
}

// Call is one request to a model: the steps that share an id.
type Call struct {
	Start, End *Step // nil when it did not come
	Function   string
	Alias      string // another name of the function, or ""
}

// Calls pairs the steps of each model call, in the order in which the calls
// began. Steps are queued by the server's background tasks, so the order of
// arrival means little.
func Calls(steps []Step) []*Call {
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.Time, b.Time) })
	ancestry := ancestry(steps)
	byID := map[string]*Call{}
	var out []*Call
	for i := range steps {
		s := &steps[i]
		if s.Kind != "LLM_START" && s.Kind != "LLM_END" {
			continue
		}
		c := byID[s.ID]
		if c == nil || s.Kind == "LLM_START" && c.Start != nil {
			c = &Call{}
			c.Function, c.Alias = ancestry.of(s)
			byID[s.ID], out = c, append(out, c)
		}
		if s.Kind == "LLM_START" {
			c.Start = s
		} else {
			c.End = s
		}
	}
	return out
}

// spans are the steps that may be parents of others, by id.
type spans map[string]*Step

func ancestry(steps []Step) spans {
	out := spans{}
	for i := range steps {
		if strings.HasSuffix(steps[i].Kind, "_START") {
			out[steps[i].ID] = &steps[i]
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
func (f spans) of(s *Step) (name, alias string) {
	if s.Function != "" {
		return s.Function, ""
	}
	for range len(f) + 1 { // parents might go in circles
		parent := f[s.Parent]
		switch {
		case parent == nil || parent == s:
			return root, ""
		case parent.Kind == "WORKFLOW_START":
			return workflow, parent.Name
		case parent.Kind == "FUNCTION_START" && parent.Framework == "":
			return parent.Name, ""
		}
		s = parent
	}
	return root, ""
}
