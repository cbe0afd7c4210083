package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

func (c *Client) clean(e *Error) *Error {
	for _, secret := range c.Secrets {
		if secret == "" {
			continue
		}
		hide := strings.NewReplacer(secret, "[key]")
		e.What, e.Help, e.Answer = hide.Replace(e.What), hide.Replace(e.Help), []byte(hide.Replace(string(e.Answer)))
		if e.Err != nil && strings.Contains(e.Err.Error(), secret) {
			e.Err = errors.New(hide.Replace(e.Err.Error()))
		}
	}
	return e
}

// Text returns the message of an answer: OpenAI's error.message, FastAPI's
// detail, the hub's error, or the answer's beginning.
func Text(header http.Header, data []byte) string {
	var body struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(data[:min(len(data), 500)]), ""))
	if json.Unmarshal(data, &body) == nil {
		for _, raw := range []json.RawMessage{body.Error, body.Detail} {
			if said := sentence(raw); said != "" {
				return said
			}
		}
	}
	if said := header.Get("X-Error-Message"); said != "" {
		return said
	}
	return text
}

func sentence(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct{ Message, Param string }
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		if object.Param != "" {
			return fmt.Sprintf("%s (%s)", object.Message, object.Param)
		}
		return object.Message
	}
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return string(raw[:min(len(raw), 500)])
}
