package tree_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/tree"
)

// said draws a message of an assistant from a few texts that differ as clients are known to change answers.
func said(t *rapid.T, label string) formats.Message {
	m := formats.Message{Role: "assistant", Call: -1}
	m.Content = rapid.SampledFrom([]string{"", "x", " x\n", "y", "<think>a</think>x", "<think>b</think> x", "<think>a</think>",
		"<think>a</think><think>b</think>x", "<think>b</think>x"}).Draw(t, label)
	m.Reasoning = rapid.SampledFrom([]string{"", "", "r", "s"}).Draw(t, label+" reasoning")
	m.Name = rapid.SampledFrom([]string{"", "", "n"}).Draw(t, label+" name")
	m.ContentParts = rapid.SampledFrom([]string{"", "", "", `[{"type":"text","text":"x"}]`, `[{"type":"text","text":" x"}]`, `[{"type":"image_url"}]`}).Draw(t, label+" parts")
	if m.ContentParts != "" {
		m.Content = ""
	}
	for range rapid.IntRange(0, 2).Draw(t, label+" calls") {
		m.ToolCalls = append(m.ToolCalls, formats.ToolCall{ID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+" id"), Name: "f",
			Arguments: rapid.SampledFrom([]string{`{"a":1,"b":2}`, `{"b":2.0, "a":1}`, `{"a":2}`, `no`, ``}).Draw(t, label+" arguments")})
	}
	return m
}

// TestKeysFindWhatFindFinds: the keys of two messages are equal exactly if Find takes one for the other.
func TestKeysFindWhatFindFinds(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		known, m := said(t, "known"), said(t, "message")
		if rapid.Bool().Draw(t, "user") {
			known.Role, m.Role = "user", "user"
			known.Reasoning, m.Reasoning, known.ToolCalls, m.ToolCalls = "", "", nil, nil
		}
		known.Sampled = known.Role == "assistant" && rapid.Bool().Draw(t, "sampled")
		var tr tree.Tree
		at := -1
		if known.Sampled {
			at = tr.AddSampled(tree.Path{At: -1}, known, 0, tree.Span{})
		} else {
			at = tr.Walk(tree.Path{At: -1}, []formats.Message{known}).At
		}
		var k tree.Keys
		for _, m := range []formats.Message{known, m} {
			i, _ := tr.Find(-1, &m)
			want := k.Of(&known) == k.Of(&m)
			if known.Sampled {
				want = slices.Contains(k.Sampled(nil, &known), k.Returned(&m))
			} else if known.Role == "assistant" && known.Name != m.Name {
				return // equal by their keys, which do not know what was sampled
			}
			if want {
				found++
			}
			if want && k.Alike(&known) != k.Alike(&m) {
				t.Fatalf("not alike:\n%+v\n%+v", known, m)
			}
			if (i == at) != want {
				t.Fatalf("Find returns %d for message %d, equal keys: %v\n%+v\n%+v", i, at, want, known, m)
			}
		}
	})
	if found == 0 {
		t.Error("no message was found")
	}
}
