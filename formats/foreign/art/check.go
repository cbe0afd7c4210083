package art

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/validate"
)

// FlatTolerance is the reward spread below which a group counts as flat.
const FlatTolerance = 1e-6

// Limits describe what a particular server accepts.
type Limits struct {
	MaxSeqLength    int  // in tokens; 0 for the server's default
	NoHistories     bool // it drops additional histories (0.3)
	PlainAssistants bool // send assistant messages that were not sampled too
	Plain           bool // it loses choices (0.5.2 to 0.5.17): sampled messages are sent as plain ones
}

// DefaultMaxSeqLength is the server's default.
const DefaultMaxSeqLength = 32768

// Problem is a reason not to send a group, or one of its trajectories.
type Problem struct {
	GroupID      string
	TrajectoryID string // "" for the whole group
	Reason       string // one of Reasons
	Detail       string
	Hint         string
}

// Check reports every reason not to send a group. It returns the number of
// sequences that the server would train on, and the number of sampled tokens.
func Check(rows []formats.Trajectory, l Limits, report func(Problem)) (sequences, tokens int64) {
	c := checker{limits: l, report: report}
	if len(rows) > 0 {
		c.group(rows)
	}
	for i := range rows {
		c.row(&rows[i])
	}
	return c.sequences, c.tokens
}

type checker struct {
	limits            Limits
	report            func(Problem)
	at                *formats.Trajectory
	sequences, tokens int64
}

func (c *checker) problem(reason, detail string, args ...any) {
	c.report(Problem{GroupID: c.at.GroupID, TrajectoryID: c.at.TrajectoryID, Reason: reason,
		Detail: fmt.Sprintf(detail, args...), Hint: hints[reason]})
}

func (c *checker) group(rows []formats.Trajectory) {
	whole := func(reason, detail string) {
		c.report(Problem{GroupID: rows[0].GroupID, Reason: reason, Detail: detail, Hint: hints[reason]})
	}
	if len(rows) < 2 {
		whole(Singleton, "ART drops a group of one")
		return
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range rows {
		if r := rows[i].Reward; r != nil {
			lo, hi = min(lo, *r), max(hi, *r)
		}
	}
	if hi-lo <= FlatTolerance {
		whole(Flat, fmt.Sprintf("all %d rewards are %g", len(rows), lo))
	}
}

func (c *checker) row(t *formats.Trajectory) {
	c.at = t
	switch {
	case t.Reward == nil:
		c.problem(NoReward, "the reward is null")
	case math.IsNaN(*t.Reward) || math.IsInf(*t.Reward, 0):
		c.problem(BadReward, "the reward is %g", *t.Reward)
	}
	sequences := Sequences(t, c.problem)
	if len(sequences) == 0 {
		c.problem(NoChoice, "no message was sampled by a call to the policy")
	}
	if len(sequences) > 1 && c.limits.NoHistories {
		c.problem(Branches, "it has %d branches to train, and this server takes one", len(sequences))
	}
	for _, s := range sequences {
		c.sequences++
		c.sequence(t, s)
	}
	if c.limits.Plain && len(t.ToolSets) > 0 {
		c.problem(ToolsWrapped, "it has tools")
	}
	for i, tools := range t.ToolSets {
		if !strings.HasPrefix(strings.TrimSpace(tools), "[") || !json.Valid([]byte(tools)) {
			c.problem(BadTools, "tool set %d is not a JSON array", i)
		}
	}
}

func (c *checker) sequence(t *formats.Trajectory, s Sequence) {
	switch t.Messages[s.Path[0]].Role {
	case "system", "developer", "user":
	default:
		c.problem(FirstRole, "the first message is of role %q", t.Messages[s.Path[0]].Role)
	}
	first := true
	for at, i := range s.Path {
		switch m := &t.Messages[i]; {
		case at > s.last:
		case t.Trained(i):
			if !first && m.PrefixBreak != "" && !c.limits.Plain {
				c.problem(PrefixBreak, "message %d: its prompt does not go on from the turn before it: %s", i, m.PrefixBreak)
			}
			first = false
			c.choice(t, i)
		default:
			c.message(m, i)
		}
	}
	// The length is the engine's own count in the last call on the path.
	limit := cmp.Or(c.limits.MaxSeqLength, DefaultMaxSeqLength)
	last := &t.Messages[s.Path[s.last]]
	if n := int(t.Calls[last.Call].PromptTokens) + len(last.TokenIDs); n > limit {
		c.problem(TooLong, "%d tokens, and max_seq_length is %d", n, limit)
	}
}

func (c *checker) message(m *formats.Message, i int) {
	switch m.Role {
	case "system", "developer", "user", "function":
	case "tool":
		if m.ToolCallID == "" {
			c.problem(ToolMessage, "message %d has no tool_call_id", i)
		}
	case "assistant":
		if len(m.ToolCalls) > 0 {
			c.problem(PlainToolCalls, "message %d has tool calls and was not sampled by the policy", i)
		} else if !c.limits.PlainAssistants {
			c.problem(PlainAssistant, "message %d is the assistant's and was not sampled by the policy", i)
		}
	default:
		c.problem(BadRole, "message %d is of role %q", i, m.Role)
	}
	if _, ok := text(m); !ok {
		c.problem(ContentParts, "message %d has parts that are not text", i)
	}
}

func (c *checker) choice(t *formats.Trajectory, i int) {
	m := &t.Messages[i]
	if m.Role != "assistant" {
		c.problem(BadRole, "message %d was sampled with role %q", i, m.Role)
	}
	if c.limits.Plain {
		c.plain(t, i)
		return
	}
	c.tokens += int64(len(m.TokenIDs))
	if !finishes[finish(m)] {
		c.problem(BadFinish, "message %d ended with %q", i, m.FinishReason)
	}
	if _, ok := text(m); !ok {
		c.problem(ContentParts, "message %d has parts that are not text", i)
	}
	if len(m.TokenIDs) == 0 {
		c.problem(NoTokenIDs, "message %d has no token ids", i)
		return
	}
	if n := t.Calls[m.Call].CompletionTokens; len(m.Logprobs) != len(m.TokenIDs) || n > 0 && int(n) != len(m.TokenIDs) {
		c.problem(TokenCount, "message %d has %d token ids, %d logprobs and %d completion tokens", i, len(m.TokenIDs),
			len(m.Logprobs), n)
	}
	if k := validate.Floored(m.Logprobs); k >= 0 {
		c.problem(BadLogprob, "message %d: logprob %d is %g", i, k, m.Logprobs[k])
	}
	for k, id := range m.TokenIDs {
		if id < 0 {
			c.problem(NoTokenIDs, "message %d: token id %d is %d", i, k, id)
			break
		}
	}
}

// plain checks a sampled message that is sent without token ids and logprobs.
func (c *checker) plain(t *formats.Trajectory, i int) {
	m := &t.Messages[i]
	c.tokens += int64(max(len(m.TokenIDs), int(t.Calls[m.Call].CompletionTokens)))
	if len(m.ToolCalls) > 0 {
		c.problem(PlainToolCalls, "message %d calls tools, and this server trains on text alone", i)
	}
	if _, ok := text(m); !ok {
		c.problem(ContentParts, "message %d has parts that are not text", i)
	}
}

var finishes = map[string]bool{"stop": true, "length": true, "tool_calls": true, "content_filter": true,
	"function_call": true}

// finish returns the finish reason as recorded; "stop" when the engine gave none.
func finish(m *formats.Message) string { return cmp.Or(m.FinishReason, "stop") }

// text returns a message's content as one string. Parts that are all text are
// joined by newlines, as vLLM does for templates that take strings.
func text(m *formats.Message) (string, bool) {
	if m.ContentParts == "" {
		return m.Content, true
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal([]byte(m.ContentParts), &parts) != nil {
		return "", false
	}
	lines := make([]string, len(parts))
	for i, p := range parts {
		if p.Type != "text" {
			return "", false
		}
		lines[i] = p.Text
	}
	return strings.Join(lines, "\n"), true
}
