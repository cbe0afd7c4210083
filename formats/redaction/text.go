package redaction

import (
	"cmp"
	"slices"
	"strings"
)

// text redacts one text and counts in c. It returns the same text when there is nothing to replace.
func (r *Rules) text(text string, c *Counts) string {
	if len(r.finders) == 0 || text == "" {
		return text
	}
	isJSON := container(text)
	if isJSON && (!r.plain || escaped(text)) {
		if out, ok := r.strings(text, c); ok {
			return out
		}
	}
	spans := r.spans(text)
	if len(spans) == 0 {
		return text
	}
	if isJSON {
		if out, ok := r.strings(text, c); ok {
			return out
		}
	}
	return replace(text, spans, c)
}

// spans returns what to replace in a text: in order, and without overlaps.
func (r *Rules) spans(text string) (found []span) {
	for _, find := range r.finders {
		found = find(found, text)
	}
	if len(found) > 0 && strings.Contains(text, markBegin) {
		found = slices.DeleteFunc(found, func(s span) bool { return r.marked(text, s) })
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.rank, b.rank)) })
	out := found[:0]
	for _, s := range found {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to) // else the rest of a key would be left
			continue
		}
		out = append(out, s)
	}
	return out
}

const markBegin = "[redacted:"

// marked reports whether a place is within a mark that these rules write. Any
// other text in such brackets may be a key.
func (r *Rules) marked(text string, s span) bool {
	near := max(0, s.from-scanLimit)
	begin := strings.LastIndex(text[near:min(s.from+len(markBegin), len(text))], markBegin)
	if begin < 0 || near+begin > s.from {
		return false
	}
	name := text[near+begin+len(markBegin):]
	end := strings.IndexByte(name[:min(len(name), scanLimit)], ']')
	return end >= 0 && s.to <= near+begin+len(markBegin)+end+1 && slices.Contains(r.names, name[:end])
}

func replace(text string, spans []span, c *Counts) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(mark(s.name))
		c.found(s.name, 1)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// container reports whether a text looks like a JSON object or list.
func container(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// escaped reports whether a JSON text has escapes that hide letters or slashes.
func escaped(text string) bool {
	for {
		at := strings.IndexByte(text, '\\')
		if at < 0 || at+1 >= len(text) {
			return false
		}
		if c := text[at+1]; c == 'u' || c == '/' {
			return true
		}
		text = text[at+2:]
	}
}
