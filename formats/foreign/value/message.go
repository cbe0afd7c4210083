package value

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/schema"
)

// Message reads a chat message that a file stores, in the manner of the chat
// completions API; its tool calls have one of the forms of ToolCall. rest are the
// members with a value that formats.Message has no field for. A member that has a wrong
// type ends the record: nothing is read as empty that is not.
func Message(raw []byte) (m formats.Message, rest jsontext.Object) {
	m = formats.Message{Parent: -1, Call: -1}
	if len(raw) == 0 || raw[0] != '{' {
		must.Fail("a message is %s, not an object", importers.Brief(raw))
	}
	var rests Rests
	for key, v := range jsontext.Members(raw) {
		switch {
		case string(v) == "null":
		case string(key) == "tool_calls":
			for raw := range jsontext.Elements(must.List("tool_calls", v)) {
				call, rest := ToolCall(raw)
				m.ToolCalls = append(m.ToolCalls, call)
				rests.Add(rest)
			}
		default:
			if !ReadField(&m, key, v) {
				rest = append(rest, jsontext.Member{Key: string(key), Raw: v})
			}
		}
	}
	if more := rests.JSON(); more != nil {
		rest = append(rest, jsontext.Member{Key: "tool_calls", Raw: more})
	}
	if m.Role == "" {
		must.Fail("a message has no role: %s", importers.Brief(raw))
	}
	if m.ContentParts != "" && len(m.Content) > 0 && OnlyText(m.ContentParts) {
		m.ContentParts = "" // one part of text is the same as the text
	}
	return m, rest
}

// Messages reads a list of messages.
func Messages(field string, list []byte) (out []importers.Read) {
	must.Each(field, must.List(field, list), func(raw []byte) {
		m, rest := Message(raw)
		out = append(out, importers.Read{Message: m, Others: rest})
	})
	return out
}

// ReadField adds one member of a message, other than null and tool calls, to m,
// and reports whether m has a place for it.
func ReadField(m *formats.Message, key, v []byte) (known bool) {
	ok := true
	switch string(key) {
	case "role", "name", "tool_call_id", "reasoning_content", "reasoning", "refusal":
		ok = v[0] == '"'
	case "content":
		ok = v[0] == '"' || v[0] == '['
	case "function_call":
		ok = v[0] == '{'
	}
	if !ok {
		must.Fail("%s of a message is %s", key, importers.Brief(v))
	}
	return chat.ReadField(m, key, v, jsontext.AnyText)
}

// ToolCall reads a tool call in one of the forms of ReadCall, or as JSON text.
func ToolCall(v []byte) (t formats.ToolCall, rest jsontext.Object) {
	if len(v) > 0 && v[0] == '"' {
		if v = []byte(jsontext.Unquote(v)); !jsontext.Valid(v) {
			must.Fail("a tool call is %s, not JSON", importers.Brief(v))
		}
		v = v[jsontext.Space(v, 0):]
	}
	must.Object("a tool call", v)
	if t, rest = ReadCall(v, jsontext.AnyText); t.Name == "" {
		must.Fail("a tool call has no function with a name: %s", importers.Brief(v))
	}
	return t, rest
}

// ReadCall reads a call of the chat completions API, or one with the members of its
// function beside its id. rest are the members that a call has no field for; arguments
// is among them, null, if no member has the arguments.
func ReadCall(v []byte, text func([]byte) string) (t formats.ToolCall, rest jsontext.Object) {
	given := false
	var member func(prefix string, key, v []byte)
	member = func(prefix string, key, v []byte) {
		switch string(key) {
		case "arguments", "args", "input", "parameters":
			if !given {
				t.Arguments, given = text(v), true
				return
			}
		case "function":
			if prefix == "" && v[0] == '{' {
				for key, v := range jsontext.Members(v) {
					member("function.", key, v)
				}
				return
			}
			if v[0] == '"' {
				t.Name = jsontext.Unquote(v)
				return
			}
		case "name":
			if v[0] == '"' {
				t.Name = jsontext.Unquote(v)
				return
			}
		case "id":
			if prefix == "" {
				t.ID = ID(v)
				return
			}
		case "type":
			if s := string(v); s == `"function"` || s == `"tool_call"` || s == `"tool_use"` {
				return
			}
		}
		if string(v) != "null" {
			rest = append(rest, jsontext.Member{Key: prefix + string(key), Raw: v})
		}
	}
	for key, v := range jsontext.Members(v) {
		member("", key, v)
	}
	if !given {
		rest = append(rest, jsontext.Member{Key: "arguments", Raw: []byte("null")})
	}
	return t, rest
}

// Rests collects the rests of the calls of a message: an object for each call.
type Rests struct {
	list [][]byte
	some bool
}

// Add adds the rest of the next call.
func (r *Rests) Add(rest jsontext.Object) {
	r.list, r.some = append(r.list, rest.Bytes()), r.some || len(rest) > 0
}

// JSON returns the list of them, nil if they are all empty.
func (r *Rests) JSON() []byte {
	if !r.some {
		return nil
	}
	return Join(r.list)
}

// OnlyText reports whether parts are one part of text and nothing else. Members
// that are null do not count.
func OnlyText(parts string) bool {
	n := 0
	for part := range jsontext.Elements([]byte(parts)) {
		n++
		for key, v := range jsontext.Members(part) {
			if string(v) == "null" {
				continue
			}
			if k := string(key); k != "text" && !(k == "type" && string(v) == `"text"`) {
				return false
			}
		}
	}
	return n == 1
}

// toolList returns the definitions of tools as JSON text: an array as it is, or a
// string that contains one; "" for null and for an empty list.
func toolList(v []byte) (string, error) {
	text := ""
	switch {
	case len(v) == 0 || string(v) == "null":
		return "", nil
	case v[0] == '[':
		text = jsontext.Compact(v)
	case v[0] == '"':
		inner := []byte(jsontext.Unquote(v))
		if len(inner) == 0 {
			return "", nil
		}
		if !jsontext.Valid(inner) || inner[jsontext.Space(inner, 0)] != '[' {
			return "", fmt.Errorf("tools are the text %s, which is not a JSON array", importers.Brief(inner))
		}
		text = jsontext.Compact(inner)
	default:
		return "", fmt.Errorf("tools are %s, neither a list nor JSON text", importers.Brief(v))
	}
	if text == "[]" {
		return "", nil
	}
	return text, nil
}

// Tools is ChatTools of what must be definitions of tools.
func Tools(v []byte) string {
	text, err := ChatTools(v)
	if err != nil {
		importers.Refuse(err)
	}
	return text
}

// ChatTools returns the definitions of tools as JSON text, "" for none: of an array, or
// of a string that contains one. Functions whose members are not in a "function", as in
// the Responses API, become those of the chat completions API, which is what exports and
// chat templates know. A definition may be JSON text; an empty one is left out.
func ChatTools(v []byte) (string, error) {
	text, err := toolList(v)
	if err != nil || text == "" {
		return "", err
	}
	var out [][]byte
	for tool := range jsontext.Elements([]byte(text)) {
		if inner := []byte(jsontext.Unquote(tool)); len(inner) > 0 && inner[0] == '{' && jsontext.Valid(inner) {
			tool = []byte(jsontext.Compact(inner))
		}
		if string(tool) == "{}" {
			continue
		}
		o := jsontext.ParseObject(tool)
		kind := jsontext.Unquote(o.Get("type"))
		switch {
		case o == nil:
			return "", fmt.Errorf("a tool is %s, not an object", importers.Brief(tool))
		case !o.Has("function") && o.Has("name") && (kind == "function" || kind == ""):
			o.Drop("type")
			tool = jsontext.Object{{Key: "type", Raw: []byte(`"function"`)}, {Key: "function", Raw: o.Bytes()}}.Bytes()
		}
		out = append(out, tool)
	}
	if out == nil {
		return "", nil
	}
	return string(Join(out)), nil
}

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
