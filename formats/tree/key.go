package tree

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Keys hashes messages so that equal hashes stand for what Find finds, without a tree. It is not safe
// for concurrent use.
type Keys struct{ buf []byte }

// Of returns the key of a message of a prompt. Messages that were not sampled are equal to Find if their keys are.
func (k *Keys) Of(m *formats.Message) uint64 {
	k.begin(m)
	k.text(text(m))
	k.text(m.Reasoning)
	k.text(m.ToolCallID)
	if m.Role != "assistant" { // the name of a sampled message does not count
		k.text(m.Name)
	}
	for _, c := range m.ToolCalls {
		k.text(c.ID)
		k.text(c.Name)
		k.text(c.Arguments)
	}
	return xxh3.Hash(k.buf)
}

// Returned returns the key of a message of a prompt as an answer that clients send back.
func (k *Keys) Returned(m *formats.Message) uint64 {
	k.begin(m)
	k.calls(m.ToolCalls...)
	return k.answer(strings.TrimSpace(text(m)), m.Reasoning)
}

// Sampled appends the keys of a sampled message: Find takes a message of a prompt for it if Returned is one of them.
func (k *Keys) Sampled(to []uint64, s *formats.Message) []uint64 {
	k.begin(s)
	k.calls(s.ToolCalls...)
	sent := text(s)
	texts := []string{strings.TrimSpace(sent), strings.TrimSpace(chat.Thinking.ReplaceAllString(sent, ""))}
	if len(s.ToolCalls) > 0 {
		texts = append(texts, "")
	}
	from := len(to)
	for _, said := range texts {
		for _, reasoning := range []string{s.Reasoning, ""} {
			if x := k.answer(said, reasoning); !slices.Contains(to[from:], x) {
				to = append(to, x)
			}
		}
	}
	return to
}

// Alike returns a key that is equal for a sampled message and all messages that Find takes for it, and for some others.
func (k *Keys) Alike(m *formats.Message) uint64 {
	k.begin(m)
	if k.calls(m.ToolCalls...); len(m.ToolCalls) > 0 {
		return k.answer("", "")
	}
	said := strings.TrimSpace(text(m))
	for was := ""; was != said; {
		was, said = said, strings.TrimSpace(chat.Thinking.ReplaceAllString(said, ""))
	}
	return k.answer(said, "")
}

func (k *Keys) begin(m *formats.Message) {
	k.buf = k.buf[:0]
	k.text(m.Role)
	if m.ContentParts != "" && !TextOnly(m.ContentParts) {
		k.text(m.ContentParts)
	}
	k.buf = append(k.buf, byte(len(m.ToolCalls)))
}

// Call returns the key of a tool call without its id: of one tool, with arguments that are equal as JSON, or as text
// where they are none.
func (k *Keys) Call(c formats.ToolCall) uint64 {
	k.buf, c.ID = k.buf[:0], ""
	k.calls(c)
	return xxh3.Hash(k.buf)
}

// calls adds tool calls, with arguments that are equal as JSON in one form.
func (k *Keys) calls(list ...formats.ToolCall) {
	for _, c := range list {
		k.text(c.ID)
		k.text(c.Name)
		if one, ok := jsontext.Canonical(c.Arguments); ok {
			k.text(string(one))
		} else {
			k.text(c.Arguments)
		}
	}
}

func (k *Keys) answer(text, reasoning string) uint64 {
	n := len(k.buf)
	k.text(text)
	k.text(reasoning)
	x := xxh3.Hash(k.buf)
	k.buf = k.buf[:n]
	return x
}

func (k *Keys) text(text string) {
	k.buf = append(binary.AppendUvarint(k.buf, uint64(len(text))), text...)
}
