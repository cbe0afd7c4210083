package tree

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Why a message does not continue the path before it (column messages.branch).
const (
	BranchChoice     = "choice"     // a further choice of one answer (n > 1)
	BranchRetry      = "retry"      // the same prompt was asked again
	BranchParallel   = "parallel"   // the same prompt was asked while the first was being answered
	BranchHistory    = "history"    // earlier messages were edited, or the agent went back to them
	BranchCompaction = "compaction" // the same system prompt, then a summary or the last turns instead of earlier messages
	BranchSubagent   = "subagent"   // another system prompt, first message or session: a sub-agent, or a new conversation
)

func (t *Tree) addSession(session string) {
	if session != "" && !slices.Contains(t.sessions, session) {
		t.sessions = append(t.sessions, session)
	}
}

// cause returns why a branch begins below a message with the rest of a prompt.
func (t *Tree) cause(at int, rest []formats.Message, session string) string {
	switch {
	case at < 0 && isSystem(&rest[0]):
		return BranchSubagent
	case session != "" && len(t.sessions) > 0 && !slices.Contains(t.sessions, session):
		return BranchSubagent
	case t.compacts(at, rest):
		return BranchCompaction
	case at < 0 || isSystem(&t.Messages[at]):
		return BranchSubagent
	}
	return BranchHistory
}

func isSystem(m *formats.Message) bool { return m.Role == "system" || m.Role == "developer" }

// Where compacts looks for a summary: in the first messages of the branch, among the last answers.
const (
	firstMessages = 3
	lastAnswers   = 8
)

// compacts reports whether the rest of a prompt has, instead of the messages
// below at, a summary that the model wrote of them, or only the last of them.
func (t *Tree) compacts(at int, rest []formats.Message) bool {
	depth := t.depth(at)
	seen := 0
	for i := len(t.Messages) - 1; i >= 0 && seen < lastAnswers; i-- {
		answer := &t.Messages[i]
		if !answer.Sampled || !t.isBelow(i, at) {
			continue
		}
		seen++
		below := t.depth(i) - depth - 1
		for k := range rest {
			m := &rest[k]
			if k >= below {
				break
			}
			if m.Role == "assistant" {
				if _, same := returned(answer, m); same && (text(answer)+m.Reasoning != "" || len(m.ToolCalls) > 0) {
					return true
				}
			} else if k < firstMessages && quotes(text(m), text(answer)) {
				return true
			}
		}
	}
	return false
}

// isBelow reports whether message i is below at. No message is below -1 if its
// conversation begins with a system prompt.
func (t *Tree) isBelow(i, at int) bool {
	root := i
	for i >= 0 && i != at {
		root, i = i, int(t.Messages[i].Parent)
	}
	return i == at && (at >= 0 || !isSystem(&t.Messages[root]))
}

func (t *Tree) depth(at int) (n int) {
	for ; at >= 0; at = int(t.Messages[at].Parent) {
		n++
	}
	return n - 1
}

// quotes reports whether most of a text is lines of an answer, or most of the
// answer is in the text: agents add words of their own and leave parts out.
func quotes(text, answer string) bool {
	const minBytes = 16
	shared := 0
	for line := range strings.Lines(answer) {
		if line = strings.TrimSpace(line); len(line) > 7 && strings.Contains(text, line) {
			shared += len(line)
		}
	}
	return shared >= minBytes && 2*shared >= min(len(text), len(answer))
}
