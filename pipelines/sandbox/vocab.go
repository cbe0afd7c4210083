package sandbox

import "strings"

// The vocabulary: 256 bytes, so that any text can be encoded and decoded, then
// role marks that no text can forge, then the words that the policy writes.
const (
	tokenSystem = 256 + iota
	tokenUser
	tokenAssistant
	tokenTool
	tokenEnd // ends a message; from here on the policy writes
	tokenOpen
	tokenClose
	tokenCell // A1; then A2, A3, B1 … C3

	tokenCall    = tokenCell + 9 // a tool call begins; not a word that is learnt
	tokenCallEnd = tokenCall + 1

	vocabulary = tokenCallEnd + 1
	firstWord  = tokenEnd
	words      = tokenCall - firstWord
)

var special = [...]string{"<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>", openMove, closeMove,
	"A1", "A2", "A3", "B1", "B2", "B3", "C1", "C2", "C3", openCall, closeCall}

const (
	openMove  = "<move>"
	closeMove = "</move>"
	openCall  = "<tool_call>"
	closeCall = "</tool_call>"
)

// tokenText returns the text of a token.
func tokenText(id int) string {
	if id < 256 {
		return string([]byte{byte(id)})
	}
	return special[id-256]
}

// appendTokens splits a text into words where one begins, else into bytes.
func appendTokens(ids []int, text string) []int {
	for i := 0; i < len(text); {
		id, n := nextToken(text[i:])
		ids = append(ids, id)
		i += n
	}
	return ids
}

func nextToken(text string) (id, length int) {
	switch c := text[0]; {
	case c == '<' && strings.HasPrefix(text, openMove):
		return tokenOpen, len(openMove)
	case c == '<' && strings.HasPrefix(text, closeMove):
		return tokenClose, len(closeMove)
	case c == '<' && strings.HasPrefix(text, openCall):
		return tokenCall, len(openCall)
	case c == '<' && strings.HasPrefix(text, closeCall):
		return tokenCallEnd, len(closeCall)
	case c >= 'A' && c <= 'C' && len(text) > 1 && text[1] >= '1' && text[1] <= '3':
		return tokenCell + int(c-'A')*3 + int(text[1]-'1'), 2
	default:
		return int(c), 1
	}
}

// turn is one message as the policy reads it.
type turn struct{ role, content string }

func roleToken(role string) int {
	switch role {
	case "system", "developer":
		return tokenSystem
	case "assistant":
		return tokenAssistant
	case "tool", "function":
		return tokenTool
	default:
		return tokenUser
	}
}

// promptTokens applies the chat template: each turn between its role and an end
// mark, then the assistant's role. An answer that ended by itself and is sent
// back as a turn gives the same ids again, so a conversation only grows.
func promptTokens(turns []turn) []int {
	n := 1
	for _, t := range turns {
		n += len(t.content) + 2
	}
	ids := make([]int, 0, n)
	for _, t := range turns {
		ids = append(ids, roleToken(t.role))
		ids = append(appendTokens(ids, t.content), tokenEnd)
	}
	return append(ids, tokenAssistant)
}
