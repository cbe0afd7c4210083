package systemtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// wire is a proxy in front of an engine that keeps requests and responses.
type wire struct {
	url   string
	mu    sync.Mutex
	calls []wireCall
}

type wireCall struct {
	path     string
	status   int
	answer   []byte
	streamed bool
}

// wireAnswer is one sampled answer as the engine sent it.
type wireAnswer struct {
	prompt, ids []int32
	logprobs    []float32
	text        string
	finish      string
}

func tapWire(t *testing.T, engine string) *wire {
	t.Helper()
	target, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(resp *http.Response) error {
		resp.Body = &kept{ReadCloser: resp.Body, end: func(body []byte) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls = append(w.calls, wireCall{resp.Request.URL.Path, resp.StatusCode, body,
				strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")})
		}}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	w.url = server.URL + "/v1"
	return w
}

// kept is a response body that passes the bytes that were read to a function when
// it is closed.
type kept struct {
	io.ReadCloser
	read bytes.Buffer
	end  func([]byte)
	once sync.Once
}

func (k *kept) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.read.Write(p[:n])
	return n, err
}

func (k *kept) Close() error {
	k.once.Do(func() { k.end(k.read.Bytes()) })
	return k.ReadCloser.Close()
}

// take returns the answers so far and removes them.
func (w *wire) take(t *testing.T) []wireAnswer {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []wireAnswer
	for _, c := range w.calls {
		if c.status != http.StatusOK {
			continue
		}
		switch {
		case strings.HasSuffix(c.path, "/chat/completions"):
			out = append(out, chatAnswers(t, c)...)
		case strings.HasSuffix(c.path, "/completions"):
			out = append(out, completionAnswers(t, c)...)
		}
	}
	w.calls = nil
	return out
}

// documents returns the JSON documents of a response: one, or those of a stream.
func (c wireCall) documents() [][]byte {
	if !c.streamed {
		return [][]byte{c.answer}
	}
	var out [][]byte
	for line := range bytes.Lines(c.answer) {
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok && string(data) != "[DONE]" {
			out = append(out, data)
		}
	}
	return out
}

func chatAnswers(t *testing.T, c wireCall) []wireAnswer {
	t.Helper()
	var prompt []int32
	var out []wireAnswer
	for _, doc := range c.documents() {
		var d struct {
			Prompt  []int32 `json:"prompt_token_ids"`
			Choices []struct {
				Index          int
				Message, Delta struct{ Content string }
				IDs            []int32 `json:"token_ids"`
				Finish         string  `json:"finish_reason"`
				Logprobs       struct{ Content []struct{ Logprob float32 } }
			}
		}
		decodeWire(t, doc, &d)
		if d.Prompt != nil {
			prompt = d.Prompt
		}
		for _, choice := range d.Choices {
			for len(out) <= choice.Index {
				out = append(out, wireAnswer{})
			}
			a := &out[choice.Index]
			a.ids = append(a.ids, choice.IDs...)
			for _, l := range choice.Logprobs.Content {
				a.logprobs = append(a.logprobs, l.Logprob)
			}
			a.text += choice.Message.Content + choice.Delta.Content
			if choice.Finish != "" {
				a.finish = choice.Finish
			}
		}
	}
	for i := range out {
		out[i].prompt = prompt
	}
	return out
}

func completionAnswers(t *testing.T, c wireCall) []wireAnswer {
	t.Helper()
	var out []wireAnswer
	for _, doc := range c.documents() {
		var d struct {
			Choices []struct {
				Prompt   []int32 `json:"prompt_token_ids"`
				IDs      []int32 `json:"token_ids"`
				Text     string
				Finish   string `json:"finish_reason"`
				Logprobs struct {
					Tokens []float32 `json:"token_logprobs"`
				}
			}
		}
		decodeWire(t, doc, &d)
		for _, choice := range d.Choices {
			out = append(out, wireAnswer{choice.Prompt, choice.IDs, choice.Logprobs.Tokens, choice.Text, choice.Finish})
		}
	}
	return out
}

func decodeWire(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("the engine's answer %.200q: %v", data, err)
	}
}
