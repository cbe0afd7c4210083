package completion

import (
	"bytes"
	"fmt"
	"math"

	"github.com/rollmill/rollmill/formats/jsontext"
)

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
