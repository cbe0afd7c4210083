package redaction

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats"
)

// Keys returns the rules that only have the detectors of keys.
func Keys() *Rules { return allKeys() }

var allKeys = sync.OnceValue(func() *Rules {
	r := &Rules{plain: true, name: fmt.Sprintf("keys (version %d)", version)}
	var all []*key
	for i := range keys {
		all = append(all, &keys[i])
	}
	r.finders = []finder{newScanner(all).find}
	return r
})

// Key is a key in a row.
type Key struct {
	Detector string // such as "openai"
	Place    string // such as "messages[3].content"
}

func (k Key) String() string { return k.Place + ": " + k.Detector }

// FindKey returns the first key in a row: in any of its texts, its ids
// included. ok is false when there is none. row is a *formats.Trajectory,
// *formats.Pair or *formats.Label. The row is not changed.
func FindKey(row any) (found Key, ok bool) {
	r := allKeys()
	look := func(p place, text *string) {
		if !ok {
			if found.Detector, ok = r.first(*text); ok {
				found.Place = p.String()
			}
		}
	}
	named := func(name string, text string) { look(place{name: name}, &text) }
	switch t := row.(type) {
	case *formats.Trajectory:
		conversation(t, look)
		rest(t, look)
		named("example_id", t.ExampleID)
		named("group_id", t.GroupID)
		named("run", t.Run)
		for i := range t.Messages {
			look(place{"messages", i, "tool_call_id"}, &t.Messages[i].ToolCallID)
		}
	case *formats.Pair:
		named("prompt", t.Prompt)
		named("chosen", t.Chosen)
		named("rejected", t.Rejected)
		named("tools", t.Tools)
		named("example_id", t.ExampleID)
		named("group_id", t.GroupID)
	case *formats.Label:
		named("prompt", t.Prompt)
		named("completion", t.Completion)
		named("tools", t.Tools)
		named("example_id", t.ExampleID)
		named("group_id", t.GroupID)
	}
	return found, ok
}

func Keyless(text string) string { return allKeys().text(text, &Counts{}) }

func (r *Rules) first(text string) (name string, ok bool) {
	if spans := r.spans(text); len(spans) > 0 {
		return spans[0].name, true
	}
	if !container(text) || !escaped(text) {
		return "", false
	}
	var c Counts
	r.text(text, &c)
	names := slices.Sorted(maps.Keys(c.Found)) // of several in one text, the first by name
	return strings.Join(names[:min(1, len(names))], ""), len(names) > 0
}
