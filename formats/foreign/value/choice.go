package value

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// Choice is an answer.
type Choice struct {
	Message formats.Message
	Prompt  []int32         // all ids of the prompt; nil when they are not known
	Source  string          // token_source; "" without ids
	Rest    jsontext.Object // every member with a value that no field above has, those of the message among them
}

// ReadChoice reads a choice.
func ReadChoice(raw []byte) (c Choice) {
	o := jsontext.ParseObject(raw)
	c.Message, c.Rest = Message(o.Get("message"))
	c.Rest.Drop("generation_token_ids")
	m := &c.Message
	m.FinishReason = must.Text("finish_reason", o.Get("finish_reason"))
	c.Prompt = must.IDs("prompt_token_ids", o.Get("prompt_token_ids"))
	fromLogprobs := ChoiceLogprobs(m, o.Get("logprobs"))
	for _, s := range []struct {
		source, field string
		ids           []byte
	}{
		{schema.TokensChoice, "token_ids", o.Get("token_ids")},
		{schema.TokensResponse, "response_token_ids", o.Get("response_token_ids")},
		{schema.TokensMessage, "generation_token_ids", jsontext.ParseObject(o.Get("message")).Get("generation_token_ids")},
	} {
		if ids := must.IDs(s.field, s.ids); len(ids) > 0 {
			m.TokenIDs, c.Source = ids, s.source
			break
		}
	}
	c.Source = cmp.Or(c.Source, fromLogprobs)
	c.Rest = append(c.Rest, Without(o, "message", "finish_reason", "index", "logprobs", "token_ids", "response_token_ids",
		"prompt_token_ids")...)
	return c
}

// ChoiceLogprobs gives an answer the logprobs of a chat completion, with the ids or
// texts of the tokens, and returns the source of the ids; "" without ids.
func ChoiceLogprobs(m *formats.Message, v []byte) (source string) {
	list := must.List("logprobs.content", must.Object("logprobs", v).Get("content"))
	var ids []int32
	for raw := range jsontext.Elements(list) {
		o := must.Object("logprobs.content", raw)
		field := fmt.Sprintf("logprobs.content[%d]", len(m.Logprobs))
		token := must.Text(field+".token", o.Get("token"))
		p := must.Number(field+".logprob", o.Get("logprob"))
		if p == nil {
			must.Fail("%s has no logprob", field)
		}
		if id, from := entryID(field, token, o.Get("id")); from != "" && len(ids) == len(m.Logprobs) {
			ids, source = append(ids, id), from
		}
		m.Logprobs, m.TokenTexts = append(m.Logprobs, float32(*p)), append(m.TokenTexts, token)
	}
	if len(ids) == 0 || len(ids) < len(m.Logprobs) {
		return ""
	}
	if m.TokenIDs = ids; source == schema.TokensInLogprobs {
		m.TokenTexts = nil // they are the ids
	}
	return source
}

// entryID returns the id of a token, and where it is.
func entryID(field, token string, id []byte) (int32, string) {
	if digits, ok := strings.CutPrefix(token, "token_id:"); ok {
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil && n >= 0 {
			return int32(n), schema.TokensInLogprobs
		}
	}
	if n := must.Whole(field+".id", id); n != nil && *n >= 0 && *n < 1<<31 {
		return int32(*n), schema.TokensEntryID
	}
	return 0, ""
}
