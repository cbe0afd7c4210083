package recorder

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Why a message does not continue the path before it (column messages.branch).
const (
	BranchChoice   = "choice"   // a further choice of one answer (n > 1)
	BranchRetry    = "retry"    // the same prompt was asked again
	BranchParallel = "parallel" // the same prompt was asked while the first was being answered
	BranchHistory  = "history"  // earlier messages were changed or left out: compaction, edits
	BranchSubagent = "subagent" // another first message: a sub-agent, or a new conversation
)

// Why a prompt does not begin with its ancestor's tokens (column messages.prefix_break).
const (
	BreakReasoning = "reasoning" // earlier reasoning was left out
	BreakArguments = "arguments" // tool arguments were written anew
	BreakContent   = "content"   // the agent changed its own earlier message
	BreakTemplate  = "template"  // the same messages, rendered otherwise
	BreakUnknown   = "unknown"   // the ancestor's ids are not known
)

// tree is the messages of one trajectory; children[i+1] are those of message i.
type tree struct {
	messages []formats.Message
	children [][]int
	spans    map[int]span // of sampled messages
}

// span is when a call was under way, in the trajectory's own count of events.
type span struct{ began, ended int }

// path is the end of a prompt in the tree.
type path struct {
	at      int    // its last message; -1 for an empty prompt
	changed string // what the agent changed of messages it continues: a Break… cause, or ""
}

// walk finds the longest known path that a prompt continues and adds the rest.
func (t *tree) walk(prompt []formats.Message) path {
	return t.walkFrom(path{at: -1}, prompt)
}

// walkFrom is walk, beginning at a path.
func (t *tree) walkFrom(p path, prompt []formats.Message) path {
	for i := range prompt {
		next, changed := t.find(p.at, &prompt[i])
		if next < 0 {
			return t.extend(p, prompt[i:])
		}
		p.at = next
		p.changed = worse(p.changed, changed)
	}
	return p
}

// walkText finds where a prompt without roles continues the tree: after the
// longest prefix of it that is an earlier prompt with its answer.
func (t *tree) walkText(m formats.Message) path {
	at, used := t.longestText(-1, m.Content)
	if at < 0 || m.ContentParts != "" {
		return t.walk([]formats.Message{m})
	}
	m.Content = m.Content[used:]
	if m.Content == "" {
		return path{at: at}
	}
	return t.walkFrom(path{at: at}, []formats.Message{m})
}

// longestText returns the sampled message below at for which the messages'
// texts, joined, are the longest prefix of text; -1 if there is none.
func (t *tree) longestText(at int, text string) (found, used int) {
	found = -1
	for _, i := range t.below(at) {
		m := &t.messages[i]
		if m.ContentParts != "" || !strings.HasPrefix(text, m.Content) || !m.Sampled && m.Content == "" {
			continue
		}
		n := len(m.Content)
		below, more := t.longestText(i, text[n:])
		switch {
		case below < 0 && m.Sampled:
			below, more = i, 0
		case below < 0:
			continue
		}
		if found < 0 || n+more >= used {
			found, used = below, n+more
		}
	}
	return found, used
}

func (t *tree) extend(p path, rest []formats.Message) path {
	branch := ""
	if siblings := t.below(p.at); len(siblings) > 0 {
		branch = BranchHistory
		if p.at < 0 {
			branch = BranchSubagent
		}
	}
	for _, m := range rest {
		m.Branch, branch = branch, ""
		p.at = t.add(p.at, m)
	}
	return p
}

func (t *tree) below(at int) []int {
	if at+1 < len(t.children) {
		return t.children[at+1]
	}
	return nil
}

func (t *tree) add(parent int, m formats.Message) int {
	i := len(t.messages)
	m.Parent = int32(parent)
	if m.ContentParts != "" {
		m.Content = "" // the parts have it
	}
	t.messages = append(t.messages, m)
	for len(t.children) < i+2 {
		t.children = append(t.children, nil)
	}
	t.children[parent+1] = append(t.children[parent+1], i)
	return i
}

// addSampled adds choice number k of an answer.
func (t *tree) addSampled(p path, m formats.Message, k int, when span) int {
	for _, i := range t.below(p.at) {
		s, sampled := t.spans[i]
		switch {
		case !sampled:
		case k > 0:
			m.Branch = BranchChoice
		case s.ended > when.began:
			m.Branch = BranchParallel
		default:
			m.Branch = BranchRetry
		}
	}
	i := t.add(p.at, m)
	if t.spans == nil {
		t.spans = map[int]span{}
	}
	t.spans[i] = when
	return i
}

// find searches the messages below at for m: the same message, or a sampled one
// that came back changed.
func (t *tree) find(at int, m *formats.Message) (i int, changed string) {
	for _, i := range slices.Backward(t.below(at)) {
		if same(&t.messages[i], m) {
			return i, ""
		}
	}
	for _, i := range slices.Backward(t.below(at)) {
		if t.messages[i].Sampled {
			if cause, ok := cameBack(&t.messages[i], m); ok {
				return i, cause
			}
		}
	}
	return -1, ""
}

func same(a, b *formats.Message) bool {
	return a.Role == b.Role && text(a) == text(b) && a.Reasoning == b.Reasoning &&
		a.ToolCallID == b.ToolCallID && (a.Name == b.Name || a.Sampled) &&
		sameParts(a, b) && slices.Equal(a.ToolCalls, b.ToolCalls)
}

// text returns a message's content, or the text of its parts.
func text(m *formats.Message) string {
	if m.ContentParts == "" {
		return m.Content
	}
	return joined([]byte(m.ContentParts))
}

// sameParts reports whether a list of text parts equals the text itself.
func sameParts(a, b *formats.Message) bool {
	return a.ContentParts == b.ContentParts || plain(a.ContentParts) && plain(b.ContentParts)
}

func plain(parts string) bool {
	for part := range elements([]byte(parts)) {
		o := parseObject(part)
		switch unquote(o.get("type")) {
		case "text":
			if len(o) != 2 {
				return false
			}
		case "input_text", "output_text", "summary_text", "reasoning_text":
		default:
			return false
		}
	}
	return true
}

var thinking = regexp.MustCompile(`(?s)^\s*<think>.*?</think>`)

// cameBack reports whether m is the sampled message s as clients send it back.
func cameBack(s, m *formats.Message) (changed string, ok bool) {
	if s.Role != m.Role || !sameParts(s, m) || len(s.ToolCalls) != len(m.ToolCalls) {
		return "", false
	}
	if m.Reasoning != s.Reasoning {
		if m.Reasoning != "" {
			return "", false
		}
		changed = worse(changed, BreakReasoning)
	}
	if said, back := text(s), text(m); said != back {
		switch was, is := strings.TrimSpace(said), strings.TrimSpace(back); {
		case was == is, is == "" && len(s.ToolCalls) > 0:
			changed = worse(changed, BreakContent)
		case strings.TrimSpace(thinking.ReplaceAllString(said, "")) == is:
			changed = worse(changed, BreakReasoning)
		default:
			return "", false
		}
	}
	for i, a := range s.ToolCalls {
		b := m.ToolCalls[i]
		if a == b {
			continue
		}
		if a.Name != b.Name || a.ID != b.ID || !sameJSON(a.Arguments, b.Arguments) {
			return "", false
		}
		changed = worse(changed, BreakArguments)
	}
	return changed, true
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// worse returns the cause that explains more.
func worse(a, b string) string {
	for _, cause := range []string{BreakArguments, BreakReasoning, BreakContent} {
		if a == cause || b == cause {
			return cause
		}
	}
	return ""
}
