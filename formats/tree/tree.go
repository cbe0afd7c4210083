package tree

import (
	"maps"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Tree is the messages of one attempt, each below the message that it follows.
// The first message of a branch says why the branch begins (a Branch constant).
// The zero value is an empty tree. A Tree is not safe for concurrent use.
type Tree struct {
	Messages []formats.Message

	// Same reports whether a message of a prompt is a known one. If it is nil, a
	// message is the known one that equals it, or the sampled one from which it
	// differs only as clients are known to change answers.
	Same func(known, m *formats.Message) bool
	// Oldest selects the oldest message where a prompt could continue several, or
	// where an answer has several others to its prompt. The default is the latest.
	Oldest bool

	children [][]int      // children[i+1] are those of message i
	sessions []string     // of the prompts walked so far, each once
	spans    map[int]Span // of sampled messages
}

// Span is the time of a call, in any unit that all calls of a tree share.
type Span struct{ Began, Ended float64 }

// Path leads from a tree's root to one of its messages.
type Path struct {
	At      int            // index of the last message; -1 for the empty path
	Changed map[int]string // what the agent changed in messages of the path: a Break constant by index; may be nil
}

// Walk follows a prompt from the end of a path for as long as its messages are
// known, adds the rest below, and returns the path to the prompt's last message.
func (t *Tree) Walk(p Path, prompt []formats.Message) Path { return t.WalkIn("", p, prompt) }

// WalkIn is Walk for a prompt of one of the agent's sessions; "" means unknown. A
// branch that begins in a new session is that of a sub-agent.
func (t *Tree) WalkIn(session string, p Path, prompt []formats.Message) Path {
	defer t.addSession(session)
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

// AddSampled adds choice k of the answer to the prompt that ends at p, and returns its index.
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

// WalkText is Walk for a prompt without roles. The prompt continues the longest
// prefix of it that is an earlier prompt with its answer.
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
	for _, i := range t.childrenOf(at) {
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
	if len(t.childrenOf(p.At)) > 0 {
		branch = t.cause(p.At, rest, session)
	}
	for _, m := range rest {
		m.Branch, branch = branch, ""
		p.At = t.add(p.At, m)
	}
	return p
}

func (t *Tree) childrenOf(at int) []int {
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

// Find returns the child of message at (-1 for the root) that m is, or -1, and
// what the agent changed in it: a Break constant, or "".
func (t *Tree) Find(at int, m *formats.Message) (i int, changed string) {
	equal := isEqual
	if t.Same != nil {
		equal = t.Same
	}
	i = t.first(at, func(i int) bool { return equal(&t.Messages[i], m) })
	if i >= 0 || t.Same != nil {
		return i, ""
	}
	i = t.first(at, func(i int) (ok bool) {
		if t.Messages[i].Sampled {
			changed, ok = returned(&t.Messages[i], m)
		}
		return ok
	})
	return i, changed
}

// first returns the latest child of at for which is returns true (the oldest,
// with Tree.Oldest), or -1. It loops over indexes, not an iterator, because it
// runs for every message of every prompt and must not allocate.
func (t *Tree) first(at int, is func(i int) bool) int {
	list := t.childrenOf(at)
	for k := range list {
		i := list[k]
		if !t.Oldest {
			i = list[len(list)-1-k]
		}
		if is(i) {
			return i
		}
	}
	return -1
}
