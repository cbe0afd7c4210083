package secret

import (
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// InMessage reports whether a value is in a message, in its parts one after the other, or
// in texts one after the other, as those of its tokens.
func (s *Set) InMessage(m *formats.Message, texts []string) bool {
	if !s.Known() {
		return false
	}
	_, n := s.redact(strings.Join(texts, ""))
	_, k := s.redact(chat.JoinedText([]byte(m.ContentParts)))
	return n+k+s.walker().looking().walk(reflect.ValueOf(m).Elem()) > 0
}

// Trajectory redacts a row and returns how many values it replaced. When one
// was in the conversation or in the tools that its prompts list, said is true and
// the row loses its tokens.
func (s *Set) Trajectory(t *formats.Trajectory) (n int, said bool) {
	if !s.Known() {
		return 0, false
	}
	n = s.Value(&t.Messages) + s.Value(&t.Candidates) + s.Value(&t.ToolSets)
	for i, m := range t.Messages { // parts may spell one together
		joined, k := s.redact(chat.JoinedText([]byte(m.ContentParts)))
		if k > 0 {
			n += k
			t.Messages = slices.Clone(t.Messages)
			t.Messages[i].Content, t.Messages[i].ContentParts = joined, ""
		}
	}
	if said = n > 0; said {
		t.DropTokens()
	}
	messages, candidates := t.Messages, t.Candidates
	t.Messages, t.Candidates = nil, nil // they are redacted already
	n += s.Value(t)
	t.Messages, t.Candidates = messages, candidates
	return n, said
}

// Rows redacts rows of any kind and returns how many values it replaced. It sets fields
// of the rows, and changes nothing that these share with others.
func Rows[T any](s *Set, rows []T) (replaced int) {
	if !s.Known() {
		return 0
	}
	for i := range rows {
		switch t := any(&rows[i]).(type) {
		case *formats.Trajectory:
			n, _ := s.Trajectory(t)
			replaced += n
		case *formats.WorkspacePiece: // its bytes were searched before they were packed, and look like anything now
			bytes := t.Bytes
			t.Bytes = ""
			replaced += s.Value(t)
			t.Bytes = bytes
		default:
			replaced += s.Value(t)
		}
	}
	return replaced
}
