package value

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Choice is an answer.
type Choice struct {
	Message formats.Message
	Prompt  []int32 // all ids of the prompt; nil when they are not known
	Source  string  // token_source; "" without ids
}

// ReadChoice reads a choice. other gets every member with a value that a Choice has no
// field for, those of the message among them.
func ReadChoice(raw []byte, other func(key string, value []byte)) (c Choice, err error) {
	o := jsontext.ParseObject(raw)
	if c.Message, err = importers.Message(o.Get("message"), func(key string, v []byte) {
		if key != "generation_token_ids" {
			other(key, v)
		}
	}); err != nil {
		return c, err
	}
	var in Reader
	m := &c.Message
	m.FinishReason = in.Text("finish_reason", o.Get("finish_reason"))
	c.Prompt = in.IDs("prompt_token_ids", o.Get("prompt_token_ids"))
	fromLogprobs := Logprobs(&in, m, o.Get("logprobs"))
	for _, s := range []struct {
		source, field string
		ids           []byte
	}{
		{formats.TokensChoice, "token_ids", o.Get("token_ids")},
		{formats.TokensResponse, "response_token_ids", o.Get("response_token_ids")},
		{formats.TokensMessage, "generation_token_ids", jsontext.ParseObject(o.Get("message")).Get("generation_token_ids")},
	} {
		if ids := in.IDs(s.field, s.ids); len(ids) > 0 {
			m.TokenIDs, c.Source = ids, s.source
			break
		}
	}
	if c.Source == "" {
		c.Source = fromLogprobs
	}
	for _, f := range o {
		switch f.Key {
		case "message", "finish_reason", "index", "logprobs", "token_ids", "response_token_ids", "prompt_token_ids":
		default:
			if string(f.Raw) != "null" {
				other(f.Key, f.Raw)
			}
		}
	}
	return c, in.Err
}

// Logprobs gives an answer the logprobs of a chat completion, with the ids or
// texts of the tokens, and returns the source of the ids; "" without ids.
func Logprobs(in *Reader, m *formats.Message, v []byte) (source string) {
	list := in.List("logprobs.content", in.Object("logprobs", v).Get("content"))
	var ids []int32
	for raw := range jsontext.Elements(list) {
		o := in.Object("logprobs.content", raw)
		field := fmt.Sprintf("logprobs.content[%d]", len(m.Logprobs))
		token := in.Text(field+".token", o.Get("token"))
		p := in.Number(field+".logprob", o.Get("logprob"))
		if in.Err == nil && p == nil {
			in.Err = fmt.Errorf("%s has no logprob", field)
		}
		if in.Err != nil {
			return ""
		}
		if id, from := tokenID(in, field, token, o.Get("id")); from != "" && len(ids) == len(m.Logprobs) {
			ids, source = append(ids, id), from
		}
		m.Logprobs, m.TokenTexts = append(m.Logprobs, float32(*p)), append(m.TokenTexts, token)
	}
	if len(ids) == 0 || len(ids) < len(m.Logprobs) {
		return ""
	}
	if m.TokenIDs = ids; source == formats.TokensInLogprobs {
		m.TokenTexts = nil // they are the ids
	}
	return source
}

// tokenID returns the id of a token, and where it is.
func tokenID(in *Reader, field, token string, id []byte) (int32, string) {
	if digits, ok := strings.CutPrefix(token, "token_id:"); ok {
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil && n >= 0 {
			return int32(n), formats.TokensInLogprobs
		}
	}
	if n := in.Whole(field+".id", id); n != nil && *n >= 0 && *n < 1<<31 {
		return int32(*n), formats.TokensEntryID
	}
	return 0, ""
}
