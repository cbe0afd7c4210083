package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
)

// longAnswer is a body of n tokens with logprobs and ids, as vLLM writes it.
func longAnswer(n int) []byte {
	var content, entries, ids bytes.Buffer
	for i := range n {
		if i > 0 {
			entries.WriteByte(',')
			ids.WriteByte(',')
		}
		fmt.Fprintf(&content, "word%d ", i)
		fmt.Fprintf(&entries, `{"token":"token_id:%d","logprob":-%d.%07d,"bytes":[119,111,114,100],"top_logprobs":[]}`, i*7, i%3, i*4211%10000000)
		fmt.Fprint(&ids, i*7)
	}
	return fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion","model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":%q},"logprobs":{"content":[%s]},"finish_reason":"stop","token_ids":[%s]}],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`,
		content.String(), entries.String(), ids.String(), n)
}

// BenchmarkDecode reads an answer of 2000 tokens with logprobs; beside it what
// a minimal type and encoding/json need, and the checks alone.
func BenchmarkDecode(b *testing.B) {
	body := longAnswer(2000)
	b.Run("recorder", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		defer cpuTime(b)()
		for b.Loop() {
			a := &answer{}
			if _, err := a.add(body, view{}); err != nil {
				b.Fatal(err)
			}
			a.choices[0].done()
			if _, f := a.keepAll(); f != nil {
				b.Fatal(f)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var a struct {
				Choices []struct {
					Message  struct{ Content string }
					Logprobs struct {
						Content []struct{ Logprob float32 }
					}
					TokenIDs []int32 `json:"token_ids"`
				}
			}
			if err := json.Unmarshal(body, &a); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCall is a whole call of an agent, through the recorder and straight
// to the engine; the difference is the recorder's.
func BenchmarkCall(b *testing.B) {
	for _, tokens := range []int{20, 2000} {
		body := longAnswer(tokens)
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.Write(body)
		}))
		defer engine.Close()
		call := func(b *testing.B, url string) {
			resp, err := http.Post(url+"/chat/completions", "application/json", bytes.NewReader([]byte(`{"model":"policy","messages":[{"role":"user","content":"what is 2+2?"}]}`)))
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		b.Run(fmt.Sprintf("direct-%d", tokens), func(b *testing.B) {
			defer cpuTime(b)()
			for b.Loop() {
				call(b, engine.URL)
			}
		})
		b.Run(fmt.Sprintf("recorded-%d", tokens), func(b *testing.B) {
			r, err := New(Options{Endpoints: []string{engine.URL}, Model: "policy"})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			defer cpuTime(b)()
			for b.Loop() {
				s := r.Begin(context.Background(), "t", "g")
				call(b, s.BaseURL())
				if rec := s.End(); rec.Unfit != nil {
					b.Fatal(rec.Unfit)
				}
			}
		})
	}
}

// cpuTime reports the processor time of a benchmark's loop by iteration, which
// holds still on a machine that has other work to do.
func cpuTime(b *testing.B) func() {
	from := usedTime()
	return func() { b.ReportMetric(float64(usedTime()-from)/float64(b.N), "cpu-ns/op") }
}

func usedTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
