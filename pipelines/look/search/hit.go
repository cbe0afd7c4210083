package search

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Hit is a trajectory in which the pattern was found, and the first place.
type Hit struct {
	Reward       *float64 `json:"reward"` // null: it has none, or a problem says that it was not read
	ExampleID    string   `json:"example_id"`
	TrajectoryID string   `json:"trajectory_id"`
	Dataset      string   `json:"dataset"` // the path below the root; "-" for the root
	Message      int      `json:"message"` // in which, or to which a candidate is an alternative; -1: none
	Place        string   `json:"place"`   // in words
	Before       string   `json:"before"`  // what is around it, cut
	Match        string   `json:"match"`
	After        string   `json:"after"`
}

// columns are those that a search reads.
var columns = strings.Fields("trajectory_id example_id answer error messages.role messages.branch messages.content messages.content_parts " +
	"messages.reasoning messages.tool_calls.name messages.tool_calls.arguments " +
	"candidates.message candidates.content candidates.reasoning candidates.tool_calls.name " +
	"candidates.tool_calls.arguments artifacts.name artifacts.content")

const (
	readRows         = 16      // at once; a row may be large
	maxMatch, around = 200, 60 // characters of what is found, and of what is on both sides

	binary = "data:;base64," // begins the content of a file that is not text
)

// hit returns the first place in a trajectory, nil for none: in its messages, the answer, the error, the
// alternatives to messages, or the text files that the attempt left.
func (s *search) hit(t *formats.Trajectory) *Hit {
	for i := range t.Messages {
		m := &t.Messages[i]
		h := s.look(named(m.ToolCalls, "content", m.Content, "content part", m.ContentParts, "reasoning", m.Reasoning))
		if h != nil {
			h.Message, h.Place = i, fmt.Sprintf("message %d, %s, %s", i, m.Role, h.Place)
			if m.Branch != "" {
				h.Place += ", branch " + m.Branch
			}
			return h
		}
	}
	if h := s.look([]string{"answer", t.Answer, "error", t.Error}); h != nil {
		return h
	}
	for i := range t.Candidates {
		c := &t.Candidates[i]
		if h := s.look(named(c.ToolCalls, "content", c.Content, "reasoning", c.Reasoning)); h != nil {
			h.Message, h.Place = int(c.Message), fmt.Sprintf("candidate %d, %s", i, h.Place)
			return h
		}
	}
	for _, a := range t.Artifacts {
		if h := s.look([]string{"file " + a.Name, a.Content}); h != nil && !strings.HasPrefix(a.Content, binary) {
			return h
		}
	}
	return nil
}

// named returns texts, each after its name, and those of tool calls.
func named(calls []formats.ToolCall, texts ...string) []string {
	for _, c := range calls {
		texts = append(texts, "tool's name", c.Name, "tool's arguments", c.Arguments)
	}
	return texts
}

// look returns the first text with the pattern. Keys are redacted before the text is cut, which leaves no part of one.
func (s *search) look(named []string) *Hit {
	for i := 0; i < len(named); i += 2 {
		in, at := s.Pattern.in(named[i+1])
		if at != nil && s.secrets.Known() {
			in, at = s.Pattern.in(s.secrets.Redact(named[i+1]))
		}
		if at != nil {
			return &Hit{Message: -1, Place: named[i], Before: strings.Clone(excerpt.End(in[:at[0]], around)),
				Match: strings.Clone(excerpt.Start(in[at[0]:at[1]], maxMatch)), After: strings.Clone(excerpt.Start(in[at[1]:], around))}
		}
	}
	return nil
}

// Found says how many trajectories were found, and whether there may be more.
func (r *Result) Found() string {
	n := fmt.Sprintf("%s; %d of %d rows searched, in %s", plural.Of(len(r.Hits), "trajectory"), r.Searched, r.Rows, plural.Of(r.Datasets, "dataset"))
	if r.AtLeast {
		n = "at least " + n
	}
	if r.Bytes > Much {
		n += ", up to " + plural.Bytes(r.Bytes)
	}
	return n
}

// WriteText writes a line for each trajectory, after what the search covered.
func (r *Result) WriteText(w io.Writer) error {
	p := &text.Layout{W: w}
	p.Field("found", "%s", r.Found())
	for _, problem := range r.Problems {
		p.Field("problem", "%s", text.Line(problem))
	}
	rows := make([][]string, len(r.Hits))
	for i, h := range r.Hits {
		rows[i] = []string{text.Or(h.Reward, "%.4g", "-"), text.Cell(h.ExampleID), text.Line(h.TrajectoryID), text.Line(h.Dataset),
			text.Line(h.Place), text.Line(h.Before + h.Match + h.After)}
	}
	return p.Table([]string{"reward", "example", "trajectory", "dataset", "place", "text"}, rows)
}
