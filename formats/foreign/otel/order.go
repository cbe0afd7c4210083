package otel

import (
	"cmp"
	"slices"
)

// sort sets what each span is of and returns the calls of models, in the order in
// which they are added: those of subagents first, each in the order of time.
func (t *trace) sort() (calls []*sourceSpan) {
	for _, s := range t.spans {
		if s.kind == "" {
			s.kind = kindOf(s)
		}
	}
	for _, s := range t.spans {
		if s.kind != kindModel {
			continue
		}
		for p := range t.above(s) {
			p.inner = true
		}
	}
	for _, s := range t.spans {
		if s.kind == kindModel && !s.inner {
			s.nested = t.nested(s)
			calls = append(calls, s)
		}
	}
	slices.SortStableFunc(calls, func(a, b *sourceSpan) int {
		if a.nested != b.nested {
			return map[bool]int{true: -1, false: 1}[a.nested]
		}
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order))
	})
	for _, s := range calls {
		if !s.nested {
			t.model = s.model()
			break
		}
	}
	return calls
}

// above yields the spans that a span is in, from the inside.
func (t *trace) above(s *sourceSpan) func(func(*sourceSpan) bool) {
	return func(yield func(*sourceSpan) bool) {
		for range maxDepth {
			p := t.byID[s.parent]
			if p == nil || p == s || s.parent == "" || !yield(p) {
				return
			}
			s = p
		}
	}
}

// nested reports whether a call is of an agent that another agent or a tool
// called.
func (t *trace) nested(s *sourceSpan) bool {
	agent := false
	for p := range t.above(s) {
		if p.kind == kindTool || agent && p.kind == kindAgent {
			return true
		}
		agent = agent || p.kind == kindAgent
	}
	return false
}

// within returns the innermost span of a kind that a span is in.
func (t *trace) within(s *sourceSpan, kind string) *sourceSpan {
	for p := range t.above(s) {
		if p.kind == kind {
			return p
		}
	}
	return nil
}
