package completion

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// streamedCalls puts together the tool calls of a stream. The API is plain: the first piece of a call has its index,
// its id and its name, and later pieces have the index alone. Engines differ from it, and clients then read them in
// their own ways: most by index, and some tell another call by its id or by complete arguments. What is recorded is the
// reading that loses no call; where clients may differ from each other, the call's sampling says so.
type streamedCalls struct {
	indexes   []int // of the message's calls; -1 for none, or functionCall
	ambiguous bool
}

func (s *streamedCalls) add(m *formats.Message, raw []byte) {
	piece := chat.ReadToolCall(raw, jsontext.Unquote)
	index, err := strconv.Atoi(string(jsontext.ParseObject(raw).Get("index")))
	if err != nil || index < 0 {
		index = -1
	}
	at := s.find(m.ToolCalls, &piece, index)
	if at == len(m.ToolCalls) {
		known := slices.ContainsFunc(m.ToolCalls, func(c formats.ToolCall) bool { return c.ID == piece.ID })
		s.ambiguous = s.ambiguous || index != at || piece.ID == "" || piece.Name == "" || known
		m.ToolCalls, s.indexes = append(m.ToolCalls, piece), append(s.indexes, index)
		return
	}
	s.ambiguous = s.ambiguous || index < 0 || index != s.indexes[at] || piece.ID != "" || piece.Name != ""
	extend(&m.ToolCalls[at], &piece)
}

// functionCall is the index of the call in the older form, delta.function_call, of which an answer has one.
const functionCall = -2

// addFunction adds a piece of the call in the older form.
func (s *streamedCalls) addFunction(m *formats.Message, raw []byte) {
	piece := chat.ReadToolCall(jsontext.Object{{Key: "function", Raw: raw}}.Bytes(), jsontext.Unquote)
	if at := slices.Index(s.indexes, functionCall); at >= 0 {
		extend(&m.ToolCalls[at], &piece)
	} else if piece.Name != "" {
		m.ToolCalls, s.indexes = append(m.ToolCalls, piece), append(s.indexes, functionCall)
	}
}

// extend adds a later piece of a call.
func extend(call, piece *formats.ToolCall) {
	call.ID = cmp.Or(call.ID, piece.ID)
	if strings.HasPrefix(piece.Name, call.Name) {
		call.Name = piece.Name // repeated, or longer
	} else {
		call.Name += piece.Name
	}
	call.Arguments += piece.Arguments
}

// find returns the position of the call that a piece continues, or the number of calls
// if it begins another. Only a piece with a name can begin another.
func (s *streamedCalls) find(calls []formats.ToolCall, piece *formats.ToolCall, index int) int {
	at, named := -1, -1 // the latest of its index, which may have its id, and the latest of its id
	for i := range calls {
		if piece.ID != "" && calls[i].ID == piece.ID {
			named = i
		}
		if index >= 0 && index == s.indexes[i] && (at < 0 || at != named || i == named) {
			at = i
		}
	}
	switch {
	case at >= 0:
	case index >= 0 && (piece.Name != "" || piece.ID != "" && named < 0):
		return len(calls)
	case named >= 0:
		at = named
	default:
		at = len(calls) - 1
	}
	if at < 0 || piece.Name != "" && begins(&calls[at], piece, index >= 0) {
		return len(calls)
	}
	return at
}

// begins reports whether a piece with a name begins another call than the one of its index, or the last one.
func begins(call, piece *formats.ToolCall, indexed bool) bool {
	opens := strings.HasPrefix(strings.TrimSpace(piece.Arguments), "{")
	whole := strings.HasPrefix(strings.TrimSpace(call.Arguments), "{") && json.Valid([]byte(call.Arguments))
	sameID := piece.ID != "" && piece.ID == call.ID
	if piece.ID != "" && call.ID != "" && !sameID || !indexed && !sameID {
		// Some engines give each piece of one call a new id.
		return opens || whole || call.Arguments == "" || piece.Name != call.Name
	}
	return whole && (opens || piece.Name != call.Name)
}

// sort puts the calls in the order of their indexes.
func (s *streamedCalls) sort(m *formats.Message) {
	if len(s.indexes) != len(m.ToolCalls) || slices.IsSorted(s.indexes) || slices.Min(s.indexes) < 0 {
		return
	}
	order := make([]int, len(s.indexes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.indexes[a] - s.indexes[b] })
	sorted := make([]formats.ToolCall, len(order))
	for i, k := range order {
		sorted[i] = m.ToolCalls[k]
	}
	m.ToolCalls = sorted
}

// NameCalls gives calls ids of their own, with this in them, where the engine gave
// none, or one twice: an agent returns each result by its id.
func (c *Choice) NameCalls(unique string) {
	calls := c.Message.ToolCalls
	for k := range calls {
		if id := calls[k].ID; id == "" || slices.ContainsFunc(calls[:k], func(b formats.ToolCall) bool { return b.ID == id }) {
			calls[k].ID = fmt.Sprintf("call_%s_%d", unique, k)
		}
	}
}
