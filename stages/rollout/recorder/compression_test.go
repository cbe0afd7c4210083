package recorder_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

func compressed(t *testing.T, encoding, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&buf)
	if encoding == "zstd" {
		w, _ = zstd.NewWriter(&buf)
	}
	io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestCompressedBothWays: a gateway that compresses unasked, and an agent that compresses its
// requests, are read; an encoding that is not known is named to both.
func TestCompressedBothWays(t *testing.T) {
	stream := role + chunk(`{"content":"one"}`, 3) + ending("stop", 1)
	whole := said(`{"role":"assistant","content":"a"}`, "[1,2]", 7)
	for _, encoding := range []string{"gzip", "zstd", "br"} {
		var accepts []string
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			accepts = append(accepts, r.Header.Get("Accept-Encoding"))
			body, _ := io.ReadAll(r.Body)
			out, kind, status := whole, "application/json", 200
			switch {
			case r.URL.Path == "/v1/embeddings":
				out = `{"data":[]}`
			case bytes.Contains(body, []byte("refuse")):
				out, status = `{"error":{"message":"no such tool"}}`, 400
			case bytes.Contains(body, []byte(`"stream":true`)):
				out, kind = stream, "text/event-stream"
			}
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Encoding", encoding)
			w.WriteHeader(status)
			w.Write(compressed(t, encoding, out))
		}))
		r, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{engine.URL + "/v1"}, Retries: -1}, Defaults: apis.Defaults{Model: "policy"}})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Begin(context.Background(), "t", "g")
		send := func(path, body string) (int, string) {
			req, _ := http.NewRequest("POST", s.BaseURL()+path, bytes.NewReader(compressed(t, encoding, body)))
			req.Header.Set("Content-Encoding", encoding)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			out, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(out)
		}
		if encoding == "br" {
			for _, path := range []string{"/chat/completions", "/embeddings", "/messages/count_tokens"} {
				if status, out := send(path, `{}`); status != 415 || !strings.Contains(out, `Content-Encoding \"br\" is not supported`) {
					t.Errorf("%s: %d %s", path, status, out)
				}
			}
			if status, out := ask(t, s, fields{"model": "policy"}, user("hi")); status != 502 || !strings.Contains(string(out), "is not supported") {
				t.Errorf("%d %s", status, out)
			}
			s.End()
		} else {
			for path, c := range map[string][2]string{
				"/chat/completions": {`{"model":"policy","messages":[{"role":"user","content":"hi"}]}`, `"content":"a"`},
				"/messages":         {`{"model":"policy","stream":true,"messages":[{"role":"user","content":"ho"}]}`, "message_stop"},
				"/responses":        {`{"model":"policy","input":"refuse"}`, "no such tool"},
				"/embeddings":       {`{"input":"x"}`, `{"data":[]}`},
			} {
				if status, out := send(path, c[0]); status != 200 && path != "/responses" || !strings.Contains(out, c[1]) {
					t.Errorf("%s %s: %d %s", encoding, path, status, out)
				}
			}
			if rec := s.End(); rec.Untrainable != nil || len(sampled(rec)) != 2 {
				t.Errorf("%s: %v %v", encoding, rec.Untrainable, outlines(rec))
			}
			if strings.Join(accepts, " ") != "identity identity identity identity" {
				t.Errorf("accepts %q", accepts)
			}
		}
		r.Close()
		engine.Close()
	}
}

// TestHTTP2WithPriorKnowledge: a client may begin with HTTP/2.
func TestHTTP2WithPriorKnowledge(t *testing.T) {
	_, s := play(t, said(`{"role":"assistant","content":"a"}`, "[1,2]", 7))
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(s.BaseURL()+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"policy","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if rec := s.End(); resp.ProtoMajor != 2 || resp.StatusCode != 200 || rec.Untrainable != nil || len(rec.Messages) != 2 {
		t.Errorf("%s %d %s", resp.Proto, resp.StatusCode, out)
	}
}
