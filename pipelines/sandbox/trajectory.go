package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The part of an ART client's request that the server reads.
type trajectoryGroup struct {
	Trajectories []trajectory `json:"trajectories"`
}

type trajectory struct {
	history
	AdditionalHistories []history                  `json:"additional_histories"`
	Reward              *float64                   `json:"reward"`
	Metrics             map[string]json.RawMessage `json:"metrics"`
}

type history struct {
	Entries []entry         `json:"messages_and_choices"`
	Tools   json.RawMessage `json:"tools"`
}

// entry is a message, or a choice with a message inside.
type entry struct {
	chatMessage
	Message   *chatMessage    `json:"message"`
	Logprobs  *choiceLogprobs `json:"logprobs"`
	Advantage *float64        `json:"advantage"` // of a choice; not ART's
}

type choiceLogprobs struct {
	Content []choiceToken `json:"content"`
}

type choiceToken struct {
	Token   *string  `json:"token"`
	Logprob *float64 `json:"logprob"`
	Bytes   *[]int   `json:"bytes"`
}

func (e *entry) isChoice() bool { return e.Message != nil }

func (t *trajectory) histories() []history {
	return append([]history{t.history}, t.AdditionalHistories...)
}

// numbers returns the metrics that are numbers or booleans.
func (t *trajectory) numbers() map[string]float64 {
	out := map[string]float64{}
	for name, raw := range t.Metrics {
		switch text := string(raw); text {
		case "true":
			out[name] = 1
		case "false":
			out[name] = 0
		default:
			if x, err := strconv.ParseFloat(text, 64); err == nil {
				out[name] = x
			}
		}
	}
	return out
}

// check returns what makes groups unusable.
func check(groups []trajectoryGroup) error {
	for g := range groups {
		for i := range groups[g].Trajectories {
			t := &groups[g].Trajectories[i]
			if err := t.check(); err != nil {
				return fmt.Errorf("trajectory_groups[%d].trajectories[%d]: %w", g, i, err)
			}
		}
	}
	return nil
}

func (t *trajectory) check() error {
	if t.Reward == nil {
		return errors.New("reward is missing")
	}
	for _, h := range t.histories() {
		for i := range h.Entries {
			e := &h.Entries[i]
			if role, _ := e.spoken(); !slices.Contains(roles, role) {
				return fmt.Errorf("messages_and_choices[%d]: unknown role %q; use one of %s", i, role, strings.Join(roles, ", "))
			}
			if e.Logprobs != nil && slices.ContainsFunc(e.Logprobs.Content, func(t choiceToken) bool { return t.Token == nil || t.Logprob == nil }) {
				return fmt.Errorf("messages_and_choices[%d]: each of logprobs.content needs a token and a logprob", i)
			}
		}
	}
	return nil
}

// written is a token to train on, with its context.
type written struct {
	view  *view
	phase phase
	id    int
	old   float64 // NaN if the sender had none
	gain  float64 // advantage; NaN: that of its trajectory
}

// reader converts histories to tokens to train on, as the trainer of 0.4 does:
// a Choice gives exactly its sampled ids, a plain assistant message before the
// last Choice gives the ids of its text, and everything else is context.
type reader struct {
	withoutLogprobs bool // dev_config.allow_training_without_logprobs
	maxTokens       int  // of a history; longer ones are truncated silently
}

// read returns the tokens of one history. Its errors are those that break the training stream.
func (r reader) read(h history) ([]written, error) {
	last := r.lastTrainable(h)
	var out []written
	var turns []turn
	for i := range h.Entries[:last+1] {
		e := &h.Entries[i]
		role, text := e.spoken()
		if role == "assistant" {
			tokens, err := r.tokens(e, text)
			if err != nil {
				return nil, fmt.Errorf("entry %d: %w", i, err)
			}
			prompt := len(promptTokens(turns))
			if fits := r.maxTokens - prompt; len(tokens) > fits {
				tokens = tokens[:max(fits, 0)]
			}
			for t := range tokens {
				if tokens[t].gain = math.NaN(); e.Advantage != nil {
					tokens[t].gain = *e.Advantage
				}
			}
			out = appendWritten(out, readView(turns), tokens, hasTools(h.Tools))
		}
		turns = append(turns, turn{role, text})
	}
	return out, nil
}

// appendWritten leaves out what the network does not decide: words that it can
// never write, tool calls, and, if tools were offered, whether to call.
func appendWritten(out []written, v *view, tokens []written, tools bool) []written {
	ph := v.begin()
	for i, t := range tokens {
		if t.id >= tokenCall {
			break
		}
		t.view, t.phase = v, ph
		ph = phaseAfter(t.id)
		first := tools && i == 0 // its probability is also that of not calling
		if first && v.sum {
			t.old, first = math.NaN(), false
		}
		if v.word(t.id) >= 0 && !first {
			out = append(out, t)
		}
	}
	return out
}

func (r reader) lastTrainable(h history) int {
	for i := len(h.Entries) - 1; i >= 0; i-- {
		e := &h.Entries[i]
		if e.isChoice() && e.Logprobs != nil || r.withoutLogprobs && (e.isChoice() || e.Role == "assistant") {
			return i
		}
	}
	return -1
}

// spoken returns the role and text of an entry. As in the legacy server, a list
// of parts is an iterator that logging has already consumed: no text is left.
func (e *entry) spoken() (role, text string) {
	m := e.chatMessage
	if e.isChoice() {
		m = *e.Message
	}
	if len(m.Content) > 0 && m.Content[0] == '"' {
		text, _ = contentText(m.Content)
	}
	return m.Role, text
}

func (r reader) tokens(e *entry, text string) ([]written, error) {
	switch {
	case !e.isChoice(), e.Logprobs == nil && r.withoutLogprobs:
		var out []written
		for _, id := range append(appendTokens(nil, text), tokenEnd) {
			out = append(out, written{id: id, old: math.NaN()})
		}
		return out, nil
	case e.Logprobs == nil:
		return nil, fmt.Errorf("AssertionError: a choice without logprobs before the last trainable one")
	case len(e.Logprobs.Content) == 0:
		return nil, fmt.Errorf("IndexError: logprobs.content is empty")
	case !e.Logprobs.Content[0].validBytes():
		return nil, fmt.Errorf("UnicodeDecodeError: the first token's bytes are not UTF-8")
	}
	var out []written
	for _, t := range e.Logprobs.Content {
		id, err := parseTokenID(*t.Token)
		if err != nil {
			return nil, err
		}
		out = append(out, written{id: id, old: *t.Logprob})
	}
	return out, nil
}

// parseTokenID reads "token_id:7".
func parseTokenID(token string) (int, error) {
	_, digits, ok := strings.Cut(token, ":")
	if !ok {
		return 0, fmt.Errorf("IndexError: token %q is not of the form token_id:N", token)
	}
	id, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("ValueError: token %q is not of the form token_id:N", token)
	}
	if id < 0 || id >= vocabulary {
		return 0, fmt.Errorf("IndexError: token id %d is not in the vocabulary of %d", id, vocabulary)
	}
	return id, nil
}

func (t *choiceToken) validBytes() bool {
	if t.Bytes == nil {
		return true
	}
	text := make([]byte, len(*t.Bytes))
	for i, b := range *t.Bytes {
		text[i] = byte(b)
	}
	return utf8.Valid(text)
}
