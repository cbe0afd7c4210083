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

// addText stores the text of a token, which is kept only if no ids came.
func (t *tokens) addText(v []byte) {
	if len(v) > 1 && v[0] == '"' && !bytes.HasPrefix(v, tokenIDPrefix) {
		t.texts = append(t.texts, jsontext.Unquote(v))
	}
}

// TokenTexts returns the texts of the tokens, one for each logprob; nil unless all have one.
func (c *Choice) TokenTexts() []string {
	if t := c.tokens.withLogprobs(); len(t.texts) == len(t.logprobs) {
		return t.texts
	}
	return nil
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
	ids, ok := ParseIDs(raw)
	f := &t.ids[from]
	f.listed, f.missing, f.ids = true, f.missing || !ok, append(f.ids, ids...)
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

// readLogprobs reads {"content":[{"token","logprob","id"?}…],"refusal":[…]}, or
// of text completions {"tokens":[…],"token_logprobs":[…]}.
func (t *tokens) readLogprobs(c *cursor) {
	for key := range c.members {
		if c.i < len(c.b) && c.b[c.i] != '[' {
			continue
		}
		switch string(key) {
		case "content", "refusal":
			t.readEntries(c)
		case "token_logprobs":
			t.listed = true
			for more := c.open('['); more; more = c.more(']') {
				t.addLogprob(c.value())
			}
		case "tokens":
			for more := c.open('['); more; more = c.more(']') {
				v := c.value()
				t.addID(inLogprobs, idInText(v))
				t.addText(v)
			}
		}
	}
}

// readEntries reads a list of logprobs; null is an empty one.
func (t *tokens) readEntries(c *cursor) {
	if c.i < len(c.b) && c.b[c.i] != '[' {
		return
	}
	t.listed = true
	for more := c.open('['); more; more = c.more(']') {
		t.readEntry(c)
	}
}

// readEntry reads one entry of a list of logprobs.
func (t *tokens) readEntry(c *cursor) {
	id, text := int32(-1), int32(-1)
	found := false
	for more := c.open('{'); more; more = c.more('}') {
		key, v := c.key(), c.value()
		switch string(key) {
		case "logprob":
			t.addLogprob(v)
			found = true
		case "id":
			id = parseID(v)
		case "token":
			text = idInText(v)
			t.addText(v)
		}
	}
	if !found {
		t.addLogprob([]byte("missing"))
	}
	t.addID(entryIDs, id)
	t.addID(inLogprobs, text)
}

// idInText reads "token_id:N"; -1 for another text.
func idInText(v []byte) int32 {
	if !bytes.HasPrefix(v, tokenIDPrefix) {
		return -1
	}
	return parseID(v[len(tokenIDPrefix) : len(v)-1])
}

var tokenIDPrefix = []byte(`"token_id:`)

func (t *tokens) addLogprob(raw []byte) {
	f, err := jsontext.ParseFloat32(raw)
	if t.invalid == "" && (err != nil || !(f <= 0) || f < -math.MaxFloat32) {
		t.invalid = fmt.Sprintf("logprob %d is %s", len(t.logprobs), raw[:min(len(raw), 40)])
	}
	t.logprobs = append(t.logprobs, f)
}

// readMetaInfo reads SGLang's [[logprob, id, text]…].
func (t *tokens) readMetaInfo(raw []byte) {
	list := jsontext.ParseObject(raw).Get("output_token_logprobs")
	if list == nil || string(list) == "null" {
		return
	}
	var logprobs [][]byte
	for triple := range jsontext.Elements(list) {
		n := 0
		for v := range jsontext.Elements(triple) {
			switch n++; n {
			case 1:
				logprobs = append(logprobs, v)
			case 2:
				t.addID(metaInfo, parseID(v))
			}
		}
	}
	t.addFallback(logprobs)
}

// readProvider reads the tokens that LiteLLM moves to provider_specific_fields, token_ids as those of a source. It
// returns what the agent sees of the members, and whether that is less.
func (t *tokens) readProvider(raw []byte, from source, a *Answer, see View) (rest jsontext.Object, less bool) {
	for _, f := range jsontext.ParseObject(raw) {
		hidden := !see.IDs
		switch f.Key {
		case "token_ids":
			t.readIDs(from, f.Raw)
		case "response_token_ids":
			t.readIDs(movedResponseIDs, f.Raw)
		case "generation_token_ids":
			t.readIDs(movedMessageIDs, f.Raw)
		case "prompt_token_ids":
			a.setPrompt(f.Raw)
		case "generation_log_probs":
			t.addFallback(slices.Collect(jsontext.Elements(f.Raw)))
			hidden = !see.Logprobs
		case "logprobs":
			t.addFallback(nil)
			t.fallback.readLogprobs(new(cursor).over(f.Raw))
			hidden = !see.Logprobs
		case "meta_info":
			t.readMetaInfo(f.Raw)
			hidden = false // nobody asked for it
		default:
			hidden = false
		}
		if less = less || hidden; !hidden {
			rest = append(rest, f)
		}
	}
	return rest, less
}

// readMessage reads the tokens that NeMo puts into the message itself, or a gateway into its provider_specific_fields.
func (t *tokens) readMessage(at *cursor, raw []byte, a *Answer, see View) {
	o := jsontext.ParseObject(raw)
	if ids := o.Get("generation_token_ids"); ids != nil {
		t.readIDs(messageIDs, ids)
	}
	if ids := o.Get("prompt_token_ids"); ids != nil {
		a.setPrompt(ids)
	}
	if list := o.Get("generation_log_probs"); list != nil {
		t.addFallback(slices.Collect(jsontext.Elements(list)))
	}
	moved := o.Get("provider_specific_fields")
	if rest, less := t.readProvider(moved, movedInsideIDs, a, see); less {
		from := cap(at.b) - cap(moved) // it is a part of it
		at.cut(from, from+len(moved), string(rest.Bytes()))
	}
}

// addFallback keeps logprobs from an unusual place, for the case that the usual one
// is empty.
func (t *tokens) addFallback(logprobs [][]byte) {
	if t.fallback == nil {
		t.fallback = &tokens{}
	}
	t.fallback.listed = true
	for _, v := range logprobs {
		t.fallback.addLogprob(v)
	}
}

// withLogprobs returns the tokens with logprobs: t, or else its fallback.
func (t *tokens) withLogprobs() *tokens {
	if len(t.logprobs) == 0 && t.fallback != nil {
		return t.fallback
	}
	return t
}

func ParseIDs(raw []byte) (ids []int32, ok bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	ids = make([]int32, 0, bytes.Count(raw, []byte{','})+1)
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
