package sequences

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/validate"
)

// Sequence is what a trainer learns from in one row: tokens that it is shown and
// tokens that it learns. Its slices are those of Response: one element for each
// of its tokens.
type Sequence struct {
	// why it is apart from the sequence before: a branch's cause, or that of a prefix break; "" for a trajectory's first
	Cause    string
	Messages []int // indexes of the messages that train in it, in order

	Prompt   []int32   // ids before the first token that trains
	Response []int32   // from the first token that trains to the last
	Mask     []bool    // which of them were sampled and train here
	Logprobs []float32 // of the policy that sampled them, in nats; 0 where Mask is false
	// where messages have advantages of their own, that of each token, 0 where Mask is false; nil: all have the trajectory's
	Advantages []float32
	Losses     *Losses // where messages have losses of their own; nil: all tokens train with rl, of weight 1
	Versions   []Span  // which weights sampled them, in order; the gaps are not sampled
	Tokens     int     // that train: how often Mask is true
}

// Span is the policy version of a range of a response's tokens.
type Span struct {
	Start, End int32  // from 0, End excluded
	Version    *int64 // null when the engine did not say
}

// Why a trajectory gives no sequences.
const (
	Nothing    = "nothing"     // no message trains
	NoIDs      = "no_ids"      // the engine gave no ids of an answer
	NoPrompt   = "no_prompt"   // or none of the prompt before it
	TokenCount = "token_count" // not one log probability for each id
	// a message before a token that trains has an image, audio, video or a file, which ids do not hold
	Images     = "images"
	BadLogprob = "logprob" // a log probability is NaN, infinite, or the engine's floor (-9999)
)

// Problem is why a trajectory gives no sequences.
type Problem struct{ Reason, Detail string }

func (p *Problem) Error() string { return p.Reason + ": " + p.Detail }

// Of returns the sequences of a trajectory, those of its main path first. Either
// all of its tokens that train are in them, or it gives none and a *Problem says
// why.
func Of(t *formats.Trajectory) ([]Sequence, *Problem) { return new(Memory).Of(t) }

// Of is the function Of, with sequences that are valid until Reset.
func (m *Memory) Of(t *formats.Trajectory) ([]Sequence, *Problem) {
	var out []Sequence
	histories := Histories(t)
	if problem := Seen(t, histories); problem != nil {
		return nil, problem
	}
	for n, h := range histories {
		cause := ""
		if len(out) > 0 {
			cause = branchOf(t, h, histories[:n])
		}
		var problem *Problem
		if out, problem = m.split(out, t, h, cause); problem != nil {
			return nil, problem
		}
	}
	if out == nil {
		return nil, &Problem{Nothing, "no token was sampled by a call to the target"}
	}
	return out, nil
}

// Seen returns a problem if images, audio, video or files come before a token that
// trains in a trajectory with these Histories: what the policy saw and ids do not hold.
func Seen(t *formats.Trajectory, histories []History) *Problem {
	for _, h := range histories {
		for _, i := range h.Path[:slices.Index(h.Path, h.Trains[len(h.Trains)-1])+1] {
			if kind := chat.Media(&t.Messages[i]); kind != "" {
				return &Problem{Images, fmt.Sprintf("message %d has a part of type %s, which token ids do not hold", i, kind)}
			}
		}
	}
	return nil
}

// branchOf returns why a history is apart from those before it: the cause of the
// branch that leads to the first message that trains in it. The conversation that
// was there first has none: it is apart by the branch that an earlier history took
// instead.
func branchOf(t *formats.Trajectory, h History, before []History) string {
	shared, other := 0, before[0].Path
	for _, b := range before {
		if n := common(h.Path, b.Path); n > shared {
			shared, other = n, b.Path
		}
	}
	for at := slices.Index(h.Path, h.Trains[0]); at >= shared; at-- {
		if cause := t.Messages[h.Path[at]].Branch; cause != "" {
			return cause
		}
	}
	if shared < len(other) {
		if cause := t.Messages[other[shared]].Branch; cause != "" {
			return cause
		}
	}
	return unlabelled
}

// unlabelled is the cause of a branch of which the data does not say why it is:
// earlier messages were edited or left.
const unlabelled = "history"

// common returns how many first messages two paths share.
func common(a, b []int) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// split adds the sequences of a history. The tokens of a message whose prompt
// continues the tokens before it follow them; any other message begins a
// sequence, which counts if something trains in it.
func (mem *Memory) split(out []Sequence, t *formats.Trajectory, h History, cause string) ([]Sequence, *Problem) {
	var pieces []piece
	begun, lost, trains := len(out), false, h.Trains
	for _, i := range h.Path {
		m := &t.Messages[i]
		if !m.Sampled {
			continue
		}
		here := i == trains[0]
		known := m.TokenIDs != nil && m.PromptDeltaIDs != nil
		if m.PrefixBreak != "" || !known {
			out, pieces, lost = mem.flush(out, t, pieces, cause), pieces[:0], !known
		}
		if here {
			if problem := check(i, m, len(pieces) == 0, lost); problem != nil {
				return nil, problem
			}
			trains = trains[1:]
		}
		if lost {
			continue
		}
		if m.PrefixBreak != "" && len(out) > begun {
			cause = m.PrefixBreak
		}
		if pieces = append(pieces, piece{message: i, trains: here && !m.NoTokens()}); len(trains) == 0 {
			break
		}
	}
	return mem.flush(out, t, pieces, cause), nil
}

// flush adds the sequence of some pieces, if something trains in them.
func (mem *Memory) flush(out []Sequence, t *formats.Trajectory, pieces []piece, cause string) []Sequence {
	if s, ok := mem.join(t, pieces); ok {
		s.Cause = cause
		out = append(out, s)
	}
	return out
}

// check returns what is wrong with a message that trains: first says that its
// sequence has no tokens before it, lost that those before its prompt are unknown.
func check(i int, m *formats.Message, first, lost bool) *Problem {
	switch {
	case m.NoTokens():
		return nil
	case len(m.TokenIDs) == 0:
		return &Problem{NoIDs, fmt.Sprintf("message %d has no token ids", i)}
	case lost && m.PromptDeltaIDs != nil:
		return &Problem{NoPrompt, fmt.Sprintf("message %d continues an answer without ids", i)}
	case m.PromptDeltaIDs == nil || len(m.PromptDeltaIDs) == 0 && (first || m.PrefixBreak != ""):
		return &Problem{NoPrompt, fmt.Sprintf("message %d has no ids of its prompt", i)}
	case len(m.Logprobs) != len(m.TokenIDs):
		return &Problem{TokenCount,
			fmt.Sprintf("message %d has %d token ids and %d log probabilities", i, len(m.TokenIDs), len(m.Logprobs))}
	}
	if at := validate.Floored(m.Logprobs); at >= 0 {
		return &Problem{BadLogprob, fmt.Sprintf("message %d: log probability %d is %v", i, at, m.Logprobs[at])}
	}
	return nil
}

// piece is a sampled message in a sequence: its prompt and its answer.
type piece struct {
	message int
	trains  bool
}

// join makes a sequence of pieces; none if nothing trains in them. It ends with
// the last token that trains.
func (mem *Memory) join(t *formats.Trajectory, pieces []piece) (s Sequence, ok bool) {
	first := slices.IndexFunc(pieces, func(p piece) bool { return p.trains })
	if first < 0 {
		return s, false
	}
	for !pieces[len(pieces)-1].trains {
		pieces = pieces[:len(pieces)-1]
	}
	prompt, response := 0, 0
	for n, p := range pieces {
		m := &t.Messages[p.message]
		switch {
		case n < first:
			prompt += len(m.PromptDeltaIDs) + len(m.TokenIDs)
		case n == first:
			prompt += len(m.PromptDeltaIDs)
			response += len(m.TokenIDs)
		default:
			response += len(m.PromptDeltaIDs) + len(m.TokenIDs)
		}
	}
	ids := mem.ids.take(prompt + response)[:0]
	s.Mask, s.Logprobs = mem.mask.take(response), mem.logprobs.take(response)
	clear(s.Mask)
	clear(s.Logprobs)
	if t.Advantages != nil {
		s.Advantages = make([]float32, response)
	}
	if t.Losses != nil {
		s.Losses = newLosses(response)
	}
	for _, p := range pieces {
		m := &t.Messages[p.message]
		ids = append(ids, m.PromptDeltaIDs...)
		if p.trains {
			s.learn(t, p.message, len(ids)-prompt)
		}
		ids = append(ids, m.TokenIDs...)
	}
	s.Prompt, s.Response = ids[:prompt:prompt], ids[prompt:]
	return s, true
}

// learn marks a message's tokens, which begin at a place in the response.
func (s *Sequence) learn(t *formats.Trajectory, i, at int) {
	m := &t.Messages[i]
	mask := s.Mask[at : at+len(m.TokenIDs)]
	for k := range mask {
		mask[k] = true
	}
	copy(s.Logprobs[at:], m.Logprobs)
	if s.Advantages != nil {
		advantages(t, i, s.Advantages[at:at+len(m.TokenIDs)])
	}
	if s.Losses != nil {
		s.Losses.learn(t, i, at, at+len(m.TokenIDs))
	}
	s.Messages = append(s.Messages, i)
	s.Tokens += len(m.TokenIDs)
	version := cmp.Or(t.Calls[m.Call].PolicyVersion, t.PolicyVersion) // of the weights that sampled the message
	s.Versions = append(s.Versions, Span{int32(at), int32(at + len(m.TokenIDs)), version})
}

// advantages sets out to those of a message's tokens.
func advantages(t *formats.Trajectory, message int, out []float32) {
	if value := t.AdvantageOf(message); value != nil {
		fill(out, float32(*value))
	}
	copy(out, t.TokenAdvantages(message))
}
