package rules

import (
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
)

const (
	shingle    = 5    // characters
	sketchSize = 1024 // hashes of a sketch
)

// sampledText returns what the policy sampled, normalised.
func sampledText(t *formats.Trajectory) string {
	var b strings.Builder
	for i := range t.Messages {
		m := &t.Messages[i]
		if !m.Sampled {
			continue
		}
		for _, text := range []string{m.Reasoning, m.Content, m.ContentParts} {
			write(&b, text)
		}
		for _, c := range m.ToolCalls {
			write(&b, c.Name)
			write(&b, c.Arguments)
		}
	}
	return b.String()
}

func write(b *strings.Builder, text string) {
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		b.WriteString(word)
		b.WriteByte(' ')
	}
}

// sketch is the lowest hashes of a set of shingles, in order.
type sketch []uint64

// sketchOf cuts a text into shingles; a shorter text is one shingle.
func sketchOf(text string) sketch {
	starts := make([]int, 0, len(text)+1)
	for at := range text {
		starts = append(starts, at)
	}
	starts = append(starts, len(text))
	var s sketch
	for i := 0; i == 0 || i+shingle < len(starts); i++ {
		s = append(s, xxh3.HashString(text[starts[i]:starts[min(i+shingle, len(starts)-1)]]))
		if len(s) == 16*sketchSize { // keep what is sorted small
			s = s.lowest()
		}
	}
	return slices.Clone(s.lowest()) // to free the others' memory
}

// lowest keeps the lowest hashes, in order, and may change the list.
func (s sketch) lowest() sketch {
	slices.Sort(s)
	s = slices.Compact(s)
	return s[:min(len(s), sketchSize)]
}

// likeness returns the share of the lowest hashes of both that both have.
func likeness(a, b sketch) float64 {
	both, seen := 0, 0
	for i, k := 0, 0; seen < sketchSize && (i < len(a) || k < len(b)); seen++ {
		switch {
		case k == len(b) || i < len(a) && a[i] < b[k]:
			i++
		case i == len(a) || b[k] < a[i]:
			k++
		default:
			both, i, k = both+1, i+1, k+1
		}
	}
	return float64(both) / float64(seen)
}
