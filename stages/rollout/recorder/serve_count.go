package recorder

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// countTokens answers how many tokens the prompt of a message or a response has: as the engine's own route for that
// says, or its tokenizer, or as an estimate of four bytes a token, which says so.
func (s *Session) countTokens(kind *apis.API, path string, w http.ResponseWriter, r *http.Request) {
	body, ok := readRequest(w, r)
	if !ok {
		return
	}
	q, err := apis.ParseRequest(kind, body, &s.responses)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	c, ok := s.beginPassing(w, r, path, body)
	if !ok {
		return
	}
	ctx, cancel := s.passContext(r)
	defer cancel()
	endpoint := s.recorder.engines.Home(s.group)
	out := s.count(r.WithContext(ctx), endpoint, path, q, body)
	s.endPassing(c, endpoint, nil)
	w.Header().Set("Content-Type", "application/json")
	w.Write(out)
}

func (s *Session) count(r *http.Request, endpoint, path string, q *apis.Request, body []byte) []byte {
	stored := q.Previous != "" || bytes.Contains(body, []byte("item_reference")) // which the engine does not know
	if out := s.askSmall(r, endpoint+"/"+path, body); !stored && jsontext.ParseObject(out).Has("input_tokens") {
		return out
	}
	begin := "{"
	if q.API == apis.Responses {
		begin = `{"object":"response.input_tokens",`
	}
	s.mu.Lock()
	s.restore(q)
	s.mu.Unlock()
	tokenize := jsontext.Object{{Key: "model", Raw: jsontext.AppendString(nil, q.Model)}, {Key: "messages", Raw: q.Fields.Get("messages")},
		{Key: "add_generation_prompt", Raw: []byte("true")}}
	if q.Tools != "" {
		tokenize.Set("tools", []byte(q.Tools))
	}
	out := s.askSmall(r, strings.TrimSuffix(endpoint, "/v1")+"/tokenize", tokenize.Bytes())
	if n := jsontext.ParseObject(out).Get("count"); n != nil {
		return fmt.Appendf(nil, `%s"input_tokens":%d}`, begin, completion.ParseCount(n))
	}
	const bytesEach = 4
	return fmt.Appendf(nil, `%s"input_tokens":%d,"estimated":true}`, begin, 1+(len(q.Fields.Get("messages"))+len(q.Tools))/bytesEach)
}

// askSmall returns an engine's answer in JSON; nil if it gave none.
func (s *Session) askSmall(r *http.Request, target string, body []byte) []byte {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.recorder.engines.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	out, err := engines.ReadAll(nil, resp.Body, resp.ContentLength, engines.MaxAnswer)
	if err != nil || resp.StatusCode != http.StatusOK || !jsontext.Valid(out) {
		return nil
	}
	return out
}
