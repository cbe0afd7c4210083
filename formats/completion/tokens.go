package completion

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// source is where token ids are found in an answer; the first is preferred.
type source int

const (
	choiceIDs source = iota
	responseIDs
	inLogprobs // in the texts of the tokens
	entryIDs
	metaInfo
	messageIDs
	movedIDs // where LiteLLM moves those of a choice: to its provider_specific_fields
	movedResponseIDs
	movedMessageIDs // those of a message, to the message's
	movedInsideIDs
)

var sources = [...]string{schema.TokensChoice, schema.TokensResponse, schema.TokensInLogprobs,
	schema.TokensEntryID, schema.TokensMetaInfo, schema.TokensMessage,
	schema.TokensChoice, schema.TokensResponse, schema.TokensMessage, schema.TokensMessage}

type idList struct {
	ids     []int32
	listed  bool // a list was present, perhaps empty
	missing bool // one is missing
}

func (f *idList) complete() bool { return !f.missing && len(f.ids) > 0 }

// bestIDs returns the ids of the first source that is complete.
func (t *tokens) bestIDs() (ids []int32, from string) {
	for k := range t.ids {
		if f := &t.ids[k]; f.complete() {
			return f.ids, sources[k]
		}
	}
	return nil, ""
}

// contradiction returns a message that names two sources whose ids differ, or
// "". Each of them claims to be what was sampled.
func (t *tokens) contradiction() string {
	ids, from := t.bestIDs()
	for k := range t.ids {
		if f := &t.ids[k]; f.complete() && !slices.Equal(f.ids, ids) {
			return fmt.Sprintf("the token ids of %s are not those of %s", from, sources[k])
		}
	}
	return ""
}

func (t *tokens) readIDs(from source, raw []byte) {
	if string(raw) == "null" {
		return
	}
	f := &t.ids[from]
	ids, ok := AppendIDs(f.ids, raw)
	if f.listed, f.missing = true, f.missing || !ok; ok {
		f.ids = ids
	}
}

// addID adds an id, or notes that it is missing: -1.
func (t *tokens) addID(from source, id int32) {
	f := &t.ids[from]
	if id < 0 {
		f.missing = true
		return
	}
	f.ids = append(f.ids, id)
}

// AppendIDs appends a JSON list of ids; ok is false for anything else.
func AppendIDs(ids []int32, raw []byte) ([]int32, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	ids = slices.Grow(ids, bytes.Count(raw, []byte{','})+1)
	for v := range jsontext.Elements(raw) {
		id := parseID(v)
		if id < 0 {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// parseID reads a whole number of at most 31 bits; -1 for anything else.
func parseID(raw []byte) int32 {
	if len(raw) == 0 || len(raw) > 10 {
		return -1
	}
	n := int64(0)
	for _, c := range raw {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int64(c-'0')
	}
	if n > math.MaxInt32 {
		return -1
	}
	return int32(n)
}
