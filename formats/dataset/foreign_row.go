package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// plainRow is a trajectory in a Parquet file that another tool wrote. Its
// fields hide those of formats.Trajectory for which null differs from zero.
type plainRow struct {
	formats.Trajectory
	Generation *int32           `parquet:"generation"`
	Messages   []plainMessage   `parquet:"messages"`
	Calls      []plainCall      `parquet:"calls"`
	Candidates []plainCandidate `parquet:"candidates"`
}

type plainMessage struct {
	formats.Message
	Parent  *int32 `parquet:"parent"`
	Sampled *bool  `parquet:"sampled"`
	Call    *int32 `parquet:"call"`
}

type plainCall struct {
	formats.Call
	Tools  *int32 `parquet:"tools"`
	Target *bool  `parquet:"target"`
}

type plainCandidate struct {
	formats.Candidate
	Message *int32 `parquet:"message"`
}

// plainColumns are the columns of a file that are read as trajectories, and how
// the missing ones are filled in.
type plainColumns struct {
	has    map[string]bool // in the file
	wanted map[string]bool // by the reader: columns of its row type, and those from which they follow
}

// plainMinimum lists the columns that must be there: if the list before the
// last dot is.
var plainMinimum = []struct{ path, meaning string }{
	{"trajectory_id", "an id that no other row has"},
	{"example_id", "the id of the task: rows with the same one make a group"},
	{"messages.role", "messages is a list of structs in the order of the conversation; role is system, user, " +
		"assistant or tool"},
	{"messages.tool_calls.name", "the tool's name"},
	{"messages.tool_calls.arguments", "the arguments as JSON text"},
	{"calls.model", "the model's name"},
	{"candidates.content", "the alternative's text"},
	{"candidates.tool_calls.name", "the tool's name"},
	{"candidates.tool_calls.arguments", "the arguments as JSON text"},
	{"rewards.name", "the reward's name"},
	{"rewards.value", "the reward's value"},
}

// want sets the columns to read: those of a row type, and those from which
// missing ones of them are computed.
func (c *plainColumns) want(columns map[string]bool) {
	c.wanted = columns
	also := func(names ...string) {
		for _, name := range names {
			c.wanted[name] = true
		}
	}
	answer, tokens := c.missing("answer"), c.missing("sampled_tokens")
	if answer {
		also("messages.content")
	}
	if tokens {
		also("messages.logprobs")
		if !c.has["messages.logprobs"] {
			also("messages.token_ids")
		}
	}
	if answer || tokens || under(columns, "messages") || under(columns, "calls") {
		also("messages.role", "messages.parent", "messages.sampled", "messages.call", "model", "policy_version")
		for name := range c.has {
			if strings.HasPrefix(name, "calls.") {
				also(name)
			}
		}
	}
	if columns["calls.tools"] {
		also("tool_sets")
	}
	if c.missing("stop_reason") {
		also("status")
	}
	delete(c.wanted, "payload_digest") // it is not known to be that of the row
}

// under reports whether there is a column of this name or below it.
func under(columns map[string]bool, name string) bool {
	for c := range columns {
		if c == name || strings.HasPrefix(c, name+".") {
			return true
		}
	}
	return false
}

// missing reports whether a column is wanted and not in the file.
func (c *plainColumns) missing(name string) bool { return c.wanted[name] && !c.has[name] }

// trajectory returns the row with what it lacks: see the guide "datasets".
func (p *plainRow) trajectory(c *plainColumns) (*formats.Trajectory, error) {
	t := &p.Trajectory
	switch {
	case c.wanted["trajectory_id"] && t.TrajectoryID == "":
		return nil, fmt.Errorf("trajectory_id is null or empty")
	case c.wanted["example_id"] && t.ExampleID == "":
		return nil, fmt.Errorf("example_id is null or empty")
	case c.has["generation"] && c.wanted["generation"] && p.Generation == nil:
		return nil, fmt.Errorf("generation is null, and other rows have one")
	}
	t.Status = cmp.Or(t.Status, outcomes.StatusOK)
	if !slices.Contains(outcomes.Statuses, t.Status) {
		return nil, fmt.Errorf("unknown status %q; use one of %s", t.Status, strings.Join(outcomes.Statuses, ", "))
	}
	t.StopReason = cmp.Or(t.StopReason, stopReasons[t.Status])
	t.Example = cmp.Or(t.Example, "{}")
	t.Generation = value32(p.Generation, 0)
	t.PayloadDigest = ""
	if err := p.conversation(); err != nil {
		return nil, err
	}
	t.Candidates = make([]formats.Candidate, len(p.Candidates))
	for i, from := range p.Candidates {
		t.Candidates[i] = from.Candidate
		t.Candidates[i].Message = value32(from.Message, -1)
	}
	if c.missing("answer") {
		t.Answer = chat.Answer(t)
	}
	if c.missing("sampled_tokens") {
		t.SampledTokens = sampledTokens(t, c.has["messages.logprobs"])
	}
	return t, nil
}

// stopReasons are those of rows without one, by status.
var stopReasons = map[string]string{
	outcomes.StatusOK: outcomes.StopDone, outcomes.StatusTruncated: outcomes.StopLength, outcomes.StatusFailed: outcomes.StopError,
	outcomes.StatusSkipped: outcomes.StopSkipped,
}

// conversation sets the messages and the calls. A row without calls gets one
// for each sampled message, to the model under training.
func (p *plainRow) conversation() error {
	t := &p.Trajectory
	t.Messages, t.Calls = make([]formats.Message, len(p.Messages)), make([]formats.Call, len(p.Calls))
	for i, from := range p.Calls {
		t.Calls[i] = from.Call
		t.Calls[i].Tools = value32(from.Tools, -1)
		t.Calls[i].Target = from.Target == nil || *from.Target
		t.Calls[i].Sampling = cmp.Or(from.Sampling, "{}")
	}
	tools := int32(-1)
	if len(t.ToolSets) == 1 {
		tools = 0
	}
	for i, from := range p.Messages {
		m := &t.Messages[i]
		*m = from.Message
		m.Parent = value32(from.Parent, int32(i)-1)
		m.Sampled = from.Sampled == nil && m.Role == "assistant" || from.Sampled != nil && *from.Sampled
		m.Call = value32(from.Call, -1)
		if m.Sampled && len(p.Calls) == 0 {
			m.Call = int32(len(t.Calls))
			t.Calls = append(t.Calls,
				formats.Call{Model: t.Model, PolicyVersion: t.PolicyVersion, Sampling: "{}", Tools: tools, Target: true})
		}
		switch {
		case m.Role == "":
			return fmt.Errorf("messages.role is null or empty in message %d", i)
		case m.Parent < -1 || int(m.Parent) >= i:
			return fmt.Errorf("messages.parent is %d in message %d: it is the index of a message before it, or -1",
				m.Parent, i)
		case m.Call < -1 || int(m.Call) >= len(t.Calls):
			return fmt.Errorf("messages.call is %d in message %d, and there are %d calls", m.Call, i, len(t.Calls))
		}
	}
	return nil
}

// sampledTokens returns the number of tokens of trained messages: of their
// logprobs, or of their ids in a file without logprobs.
func sampledTokens(t *formats.Trajectory, logprobs bool) (n int32) {
	for i := range t.Messages {
		switch m := &t.Messages[i]; {
		case !t.Trained(i):
		case logprobs:
			n += int32(len(m.Logprobs))
		default:
			n += int32(len(m.TokenIDs))
		}
	}
	return n
}

func value32(p *int32, otherwise int32) int32 {
	if p == nil {
		return otherwise
	}
	return *p
}
