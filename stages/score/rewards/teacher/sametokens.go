package teacher

import (
	"strings"
	"unicode"

	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/score"
)

// sameTokens returns an error if the teacher's texts of a sequence's ids are not those
// that were sampled: it has another tokenizer. The texts that came with the log
// probabilities are compared, or without any the content of messages that are nothing
// else. Spaces do not count: single tokens lose them.
func sameTokens(row *score.Row, s *sequences.Sequence, places []place) error {
	for k, message := range s.Messages {
		m, span := &row.Messages[message], s.Versions[k]
		ids, texts := s.Response[span.Start:span.End], make([]string, span.End-span.Start)
		for i := range texts {
			texts[i] = packed(places[int(span.Start)+i].text)
		}
		at, sampled := -1, ""
		if len(m.TokenTexts) == len(ids) {
			at, sampled = differing(texts, m.TokenTexts)
		} else if m.ContentParts == "" && m.Reasoning == "" && len(m.ToolCalls) == 0 {
			at, sampled = differingContent(texts, packed(m.Content))
		}
		if at >= 0 {
			return mismatch(ids[at], message, places[int(span.Start)+at].text, sampled)
		}
	}
	return nil
}

// differing returns the first index at which two lists differ; -1 for none.
func differing(texts, sampled []string) (int, string) {
	for i, text := range texts {
		if other := packed(sampled[i]); text != other && text != "" && other != "" && !unclear(text+other) {
			return i, sampled[i]
		}
	}
	return -1, ""
}

// differingContent returns the first text that does not continue a content which the
// texts do not contain; -1 if they do.
func differingContent(texts []string, content string) (int, string) {
	if joined := strings.Join(texts, ""); joined == "" || unclear(joined) || strings.Contains(joined, content) {
		return -1, ""
	}
	for i, text := range texts {
		rest, continues := strings.CutPrefix(content, text)
		if !continues {
			return i, clip(content)
		}
		content = rest
	}
	return len(texts) - 1, clip(content)
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

func clip(text string) string {
	if len(text) > 20 {
		text = strings.ToValidUTF8(text[:20], "") + "..."
	}
	return text
}
