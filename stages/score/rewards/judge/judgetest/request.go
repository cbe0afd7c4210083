package judgetest

import (
	"encoding/json"
	"regexp"
)

// Request is a request that it got.
type Request struct {
	Model    string `json:"model"`
	Seed     int64  `json:"seed"`
	Messages []struct{ Role, Content string }
	Format   Format `json:"response_format"`
}

// Format is the requested structured output.
type Format struct {
	Type   string `json:"type"`
	Schema struct {
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// User returns the question; in a second request, an answer was sent back.
func (r Request) User() string { return r.Messages[1].Content }

// SentBack reports whether an answer was sent back.
func (r Request) SentBack() bool { return len(r.Messages) > 2 }

// Labels returns the trajectories of a group's question.
func (r Request) Labels() []string {
	var out []string
	for _, m := range trajectory.FindAllStringSubmatch(r.User(), -1) {
		out = append(out, m[1])
	}
	return out
}

// Items returns the names of the items of a rubric's question.
func (r Request) Items() []string {
	var out []string
	for _, m := range item.FindAllStringSubmatch(r.Messages[0].Content, -1) {
		out = append(out, m[1])
	}
	return out
}

var item = regexp.MustCompile(`(?m)^<item name="([^"]+)">$`)

var trajectory = regexp.MustCompile(`(?s)<trajectory id="([^"]+)">\n(.*?)\n</trajectory>`)
