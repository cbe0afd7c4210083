package teacher

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/score"
)

// sameTokens returns an error if the teacher's texts of a sequence's ids are not those
// that were sampled: it has another tokenizer. The texts that came with the log
// probabilities are compared, or without any the content of messages that are nothing
// else. Spaces do not count: single tokens lose them.
func sameTokens(row *score.Row, s *sequences.Sequence, places []place) error {
	for k, message := range s.Messages {
		start, end := s.Versions[k].Start, s.Versions[k].End
		texts := make([]string, end-start)
		for i := range texts {
			texts[i] = packed(places[int(start)+i].text)
		}
		if at, sampled := differing(texts, &row.Messages[message]); at >= 0 {
			return fmt.Errorf("id %d of message %d is %q to the teacher, and %q was sampled", s.Response[int(start)+at], message,
				places[int(start)+at].text, sampled)
		}
	}
	return nil
}

// differing returns the first text that is not the message's, and what is there instead;
// -1 for none.
func differing(texts []string, m *formats.Message) (int, string) {
	if len(m.TokenTexts) == len(texts) {
		for i, text := range texts {
			if other := packed(m.TokenTexts[i]); text != other && text != "" && other != "" && !unclear(text+other) {
				return i, m.TokenTexts[i]
			}
		}
		return -1, ""
	}
	joined, content := strings.Join(texts, ""), packed(m.Content)
	if m.ContentParts != "" || m.Reasoning != "" || len(m.ToolCalls) > 0 || joined == "" || unclear(joined+content) || strings.Contains(joined, content) {
		return -1, ""
	}
	for i, text := range texts {
		rest, continues := strings.CutPrefix(content, text)
		if !continues {
			return i, excerpt.Start(content, 20)
		}
		content = rest
	}
	return len(texts) - 1, excerpt.Start(content, 20)
}

func packed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '▁' || r == 'Ġ' || r == 'Ċ' {
			return -1
		}
		return r
	}, text)
}

// unclear reports whether a text holds a part of a character.
func unclear(text string) bool { return strings.ContainsRune(text, '\uFFFD') }
