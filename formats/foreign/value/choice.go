package value

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
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
func ReadChoice(raw []byte) (c Choice, err error) {
	o := jsontext.ParseObject(raw)
	if c.Message, c.Rest, err = Message(o.Get("message")); err != nil {
		return c, err
	}
	c.Rest.Drop("generation_token_ids")
	var in Reader
	m := &c.Message
	m.FinishReason = in.Text("finish_reason", o.Get("finish_reason"))
	c.Prompt = in.IDs("prompt_token_ids", o.Get("prompt_token_ids"))
	fromLogprobs := in.ChoiceLogprobs(m, o.Get("logprobs"))
	for _, s := range []struct {
		source, field string
		ids           []byte
	}{
		{schema.TokensChoice, "token_ids", o.Get("token_ids")},
		{schema.TokensResponse, "response_token_ids", o.Get("response_token_ids")},
		{schema.TokensMessage, "generation_token_ids", jsontext.ParseObject(o.Get("message")).Get("generation_token_ids")},
	} {
		if ids := in.IDs(s.field, s.ids); len(ids) > 0 {
			m.TokenIDs, c.Source = ids, s.source
			break
		}
	}
	c.Source = cmp.Or(c.Source, fromLogprobs)
	c.Rest = append(c.Rest, Without(o, "message", "finish_reason", "index", "logprobs", "token_ids", "response_token_ids",
		"prompt_token_ids")...)
	return c, in.Err
}

// ChoiceLogprobs gives an answer the logprobs of a chat completion, with the ids or
// texts of the tokens, and returns the source of the ids; "" without ids.
func (r *Reader) ChoiceLogprobs(m *formats.Message, v []byte) (source string) {
	list := r.List("logprobs.content", r.Object("logprobs", v).Get("content"))
	var ids []int32
	for raw := range jsontext.Elements(list) {
		o := r.Object("logprobs.content", raw)
		field := fmt.Sprintf("logprobs.content[%d]", len(m.Logprobs))
		token := r.Text(field+".token", o.Get("token"))
		p := r.Number(field+".logprob", o.Get("logprob"))
		if p == nil {
			r.Fail("%s has no logprob", field)
		}
		if r.Err != nil {
			return ""
		}
		if id, from := r.entryID(field, token, o.Get("id")); from != "" && len(ids) == len(m.Logprobs) {
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
func (r *Reader) entryID(field, token string, id []byte) (int32, string) {
	if digits, ok := strings.CutPrefix(token, "token_id:"); ok {
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil && n >= 0 {
			return int32(n), schema.TokensInLogprobs
		}
	}
	if n := r.Whole(field+".id", id); n != nil && *n >= 0 && *n < 1<<31 {
		return int32(*n), schema.TokensEntryID
	}
	return 0, ""
}
