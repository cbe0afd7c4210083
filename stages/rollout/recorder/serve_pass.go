package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// maxPassing is how many calls of one trajectory may pass through; they do not count for its limit of model calls.
const maxPassing = 10_000

// pass forwards a request that is no model call (embeddings, rerank, models) to the engine, and its answer to the
// agent, both unchanged. It is recorded as a call without messages, which is never trained on.
func (s *Session) pass(w http.ResponseWriter, r *http.Request, path string) {
	body, ok := readRequest(w, r)
	if !ok {
		return
	}
	c, ok := s.beginPassing(w, r, path, body)
	if !ok {
		return
	}
	ctx, cancel := s.passContext(r)
	defer cancel()
	endpoint := s.recorder.engines.Home(s.group)
	target := endpoint + "/" + (&url.URL{Path: path}).EscapedPath()
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	err := s.forwardAll(w, r.WithContext(ctx), target, body)
	s.endPassing(c, endpoint, err)
	if errors.Is(err, errCut) {
		panic(http.ErrAbortHandler)
	}
}

// passContext is callContext, for at most the time of a call.
func (s *Session) passContext(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, end := s.callContext(r)
	timeout := s.recorder.opts.CallTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, remote.LateError(timeout))
	return ctx, func() { cancel(); end(nil) }
}

// errCut is the error of an answer whose beginning has been forwarded.
var errCut = errors.New("the answer broke off")

// forwardAll sends the request to an address and writes the answer. An error of the engine's is also written.
func (s *Session) forwardAll(w http.ResponseWriter, r *http.Request, target string, body []byte) error {
	failed := func(text string) error {
		text = secret.From(r.Context()).Redact(text)
		writeError(w, http.StatusBadGateway, "rollmill_upstream_error", text)
		return errors.New(text)
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, target, bytes.NewReader(body))
	if err != nil {
		return failed(err.Error())
	}
	engines.Forward(req.Header, r.Header)
	resp, err := s.recorder.engines.Do(req)
	if err != nil {
		return failed(engines.TransportError(r.Context(), err).Error())
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 3 {
		return failed("the engine redirects elsewhere, which is not followed")
	}
	s.headers(w, resp.Header)
	w.WriteHeader(resp.StatusCode)
	redacted := secret.From(r.Context()).NewWriter(flusher{w})
	n, err := io.Copy(redacted, io.LimitReader(resp.Body, completion.MaxStream+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errCut, err)
	case n > completion.MaxStream:
		return fmt.Errorf("%w: it is larger than %d MiB", errCut, completion.MaxStream>>20)
	}
	redacted.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return nil
}

// flusher sends each piece of an answer at once: it may be a stream.
type flusher struct{ http.ResponseWriter }

func (f flusher) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	_ = http.NewResponseController(f.ResponseWriter).Flush()
	return n, err
}

// beginPassing records the start of a call that passes through. If it is one too
// many, it answers the agent and returns false.
func (s *Session) beginPassing(w http.ResponseWriter, r *http.Request, path string, body []byte) (c *call, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passed == maxPassing {
		writeError(w, http.StatusForbidden, "trajectory_limit",
			fmt.Sprintf("this trajectory has made %d requests besides its model calls, which is the limit", maxPassing))
		return nil, false
	}
	s.passed++
	model := ""
	if jsontext.Valid(body) {
		model = jsontext.Unquote(jsontext.ParseObject(body).Get("model"))
	}
	c = &call{index: len(s.record.Calls), at: s.recorder.opts.Now()}
	api := strings.ToValidUTF8(path, "\uFFFD")
	s.record.Calls = append(s.record.Calls,
		formats.Call{Model: strings.ToValidUTF8(model, "\uFFFD"),
			Sampling: string(jsontext.Object{{Key: "api", Raw: jsontext.AppendString(nil, api)}}.Bytes()),
			Tools:    -1, Attempts: 1, Function: strings.ToValidUTF8(takeFunction(r), "\uFFFD")})
	return c, true
}

func (s *Session) endPassing(c *call, endpoint string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	recorded := &s.record.Calls[c.index]
	recorded.Endpoint, recorded.LatencyMS = endpoint, s.recorder.opts.Now().Sub(c.at).Milliseconds()
	if err != nil {
		recorded.Error = strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	if ended := s.recorder.opts.Ended; ended != nil {
		ended(*recorded)
	}
}
