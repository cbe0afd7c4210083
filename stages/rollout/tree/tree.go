package tree

import (
	"maps"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Tree is the messages of one trajectory, each below the message that it follows.
// Prompts that begin alike share their first messages. Where a prompt differs from
// every known path a branch begins, and its first message says why. The zero value
// is an empty tree that compares messages as the recorder does. A Tree must not be
// used by several goroutines at once.
type Tree struct {
	Messages []formats.Message

	// Same reports whether a message of a prompt is a known one. If it is nil, a
	// message is the known one that equals it, or the sampled one from which it
	// differs only as clients are known to change answers.
	Same func(known, m *formats.Message) bool
	// Oldest makes the oldest count where a prompt could continue several messages,
	// or an answer has several others to its prompt. By default the latest counts.
	Oldest bool

	children [][]int      // children[i+1] are those of message i
	sessions []string     // of the prompts walked so far, each once
	spans    map[int]Span // of sampled messages
}

// Span is when a call was under way, in any unit of time that a tree's calls share.
type Span struct{ Began, Ended float64 }

// Path leads from a tree's root to one of its messages.
type Path struct {
	At      int            // index of the last message; -1 for the empty path
	Changed map[int]string // what the agent changed of messages on it: a Break… cause by index; nil for nothing
}

// Walk follows a prompt from the end of a path for as long as its messages are
// known, adds the rest below, and returns the path to the prompt's last message.
func (t *Tree) Walk(p Path, prompt []formats.Message) Path { return t.WalkIn("", p, prompt) }

// WalkIn is Walk for a prompt of one of the agent's sessions; "" means unknown. A
// branch that begins in a new session is that of a sub-agent.
func (t *Tree) WalkIn(session string, p Path, prompt []formats.Message) Path {
	defer t.knows(session)
	for i := range prompt {
		next, changed := t.Find(p.At, &prompt[i])
		if next < 0 {
			return t.extend(p, prompt[i:], session)
		}
		p.At = next
		if changed != "" {
			p.Changed = maps.Clone(p.Changed) // the caller's path is as it was
			if p.Changed == nil {
				p.Changed = map[int]string{}
			}
			p.Changed[next] = changed
		}
	}
	return p
}

// AddSampled adds choice k of the answer to the prompt that ends at p, and
// returns its index.
func (t *Tree) AddSampled(p Path, m formats.Message, k int, when Span) int {
	other := t.first(p.At, func(i int) bool {
		_, sampled := t.spans[i]
		return sampled
	})
	switch {
	case other < 0:
	case k > 0:
		m.Branch = BranchChoice
	case t.spans[other].Ended > when.Began:
		m.Branch = BranchParallel
	default:
		m.Branch = BranchRetry
	}
	i := t.add(p.At, m)
	if t.spans == nil {
		t.spans = map[int]Span{}
	}
	t.spans[i] = when
	return i
}

// WalkText finds where a prompt without roles continues the tree: after the
// longest prefix of it that is an earlier prompt with its answer.
func (t *Tree) WalkText(m formats.Message) Path {
	at, used := t.longestText(-1, m.Content)
	if at < 0 || m.ContentParts != "" {
		return t.Walk(Path{At: -1}, []formats.Message{m})
	}
	m.Content = m.Content[used:]
	if m.Content == "" {
		return Path{At: at}
	}
	return t.Walk(Path{At: at}, []formats.Message{m})
}

// longestText returns the sampled message below at for which the messages'
// texts, joined, are the longest prefix of text; -1 if there is none.
func (t *Tree) longestText(at int, text string) (found, used int) {
	found = -1
	for _, i := range t.below(at) {
		m := &t.Messages[i]
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

func (t *Tree) extend(p Path, rest []formats.Message, session string) Path {
	branch := ""
	if len(t.below(p.At)) > 0 {
		branch = t.cause(p.At, rest, session)
	}
	for _, m := range rest {
		m.Branch, branch = branch, ""
		p.At = t.add(p.At, m)
	}
	return p
}

func (t *Tree) below(at int) []int {
	if at+1 < len(t.children) {
		return t.children[at+1]
	}
	return nil
}

func (t *Tree) add(parent int, m formats.Message) int {
	i := len(t.Messages)
	m.Parent = int32(parent)
	if m.ContentParts != "" {
		m.Content = "" // the parts have it
	}
	t.Messages = append(t.Messages, m)
	for len(t.children) < i+2 {
		t.children = append(t.children, nil)
	}
	t.children[parent+1] = append(t.children[parent+1], i)
	return i
}

// Find returns the message below at that m is, or -1, and what the agent changed
// of it.
func (t *Tree) Find(at int, m *formats.Message) (i int, changed string) {
	equal := same
	if t.Same != nil {
		equal = t.Same
	}
	i = t.first(at, func(i int) bool { return equal(&t.Messages[i], m) })
	if i >= 0 || t.Same != nil {
		return i, ""
	}
	i = t.first(at, func(i int) (ok bool) {
		if t.Messages[i].Sampled {
			changed, ok = cameBack(&t.Messages[i], m)
		}
		return ok
	})
	return i, changed
}

// first returns the message below at that counts among those for which is
// returns true, or -1. Indexes, not an iterator: this runs for every message of
// every prompt and allocates nothing.
func (t *Tree) first(at int, is func(i int) bool) int {
	below := t.below(at)
	for k := range below {
		i := below[k]
		if !t.Oldest {
			i = below[len(below)-1-k]
		}
		if is(i) {
			return i
		}
	}
	return -1
}
