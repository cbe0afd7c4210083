package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// TestLargeAnswersTogetherHaveALimit: eight at once, each of nearly as much as
// one may have, are read four at a time, and all arrive.
func TestLargeAnswersTogetherHaveALimit(t *testing.T) {
	const answers, size = 8, 48 << 20
	var wrote atomic.Int64
	finish := make(chan bool)
	r := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"model":"policy","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]`)
		piece := bytes.Repeat([]byte(" "), 1<<20)
		for range size >> 20 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		wrote.Add(1)
		<-finish
		fmt.Fprint(w, "}")
	}, func(o *recorder.Options) { o.NoLogprobs = true })
	var all sync.WaitGroup
	var good atomic.Int64
	for i := range answers {
		all.Go(func() {
			s := r.Begin(context.Background(), fmt.Sprint("t", i), "g")
			if status, _ := ask(t, s, nil, user("one")); status == 200 {
				good.Add(1)
			}
			s.End()
		})
	}
	for wrote.Load() < 4 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // for a fifth, if there were room
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if n := wrote.Load(); n > 4 || m.HeapAlloc > 600<<20 {
		t.Errorf("%d answers of %d MiB were read at once; the heap has %d MiB", n, size>>20, m.HeapAlloc>>20)
	}
	close(finish)
	all.Wait()
	if n := good.Load(); n != answers {
		t.Errorf("%d of %d answers arrived", n, answers)
	}
}

// TestAStreamWithoutEndIsCutOff: of comments, of nothing.
func TestAStreamWithoutEndIsCutOff(t *testing.T) {
	for name, line := range map[string]string{"comments": ": still here\n\n", "blank lines": "\n\n\n\n"} {
		t.Run(name, func(t *testing.T) {
			r := serving(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n")
				piece := []byte(strings.Repeat(line, 1<<20/len(line)))
				for {
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			})
			s := r.Begin(context.Background(), "t", "g")
			resp, err := http.Post(s.BaseURL()+"/chat/completions", "application/json", strings.NewReader(`{"model":"policy","stream":true,"messages":[{"role":"user","content":"x"}]}`))
			if err == nil { // else nothing had been passed on when it was cut off
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			rec := s.End()
			if rec.LastCall == nil || rec.LastCall.Class != formats.FailEngine || !strings.Contains(rec.LastCall.Text, "longer than 256 MiB") {
				t.Errorf("%+v", rec.LastCall)
			}
		})
	}
}

// TestEngineSecretsAreRedactedForAgents: in an error, a header, the
// list of models, the middle of a stream.
func TestEngineSecretsAreRedactedForAgents(t *testing.T) {
	const key = "sk-canary-1234"
	known := &secret.Set{}
	known.Add("API_KEY", key)
	for _, stream := range []bool{false, true} {
		r := serving(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			if stream && r.Method == http.MethodPost {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n")
				w.(http.Flusher).Flush()
				fmt.Fprintf(w, "data: {\"error\":{\"message\":\"refused %s\"}}\n\n", r.Header.Get("Authorization"))
				return
			}
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":"refused %s"}}`, r.Header.Get("Authorization"))
		}, func(o *recorder.Options) { o.APIKey = key })
		s := r.Begin(secret.With(context.Background(), known), "t", "g")
		for _, path := range []string{"/chat/completions", "/models"} {
			method, body := http.MethodPost, fmt.Sprintf(`{"model":"policy","stream":%v,"messages":[{"role":"user","content":"x"}]}`, stream)
			if path == "/models" {
				method, body = http.MethodGet, ""
			}
			req, _ := http.NewRequest(method, s.BaseURL()+path, strings.NewReader(body))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			_, _ = text.ReadFrom(resp.Body)
			resp.Body.Close()
			if all := text.String() + fmt.Sprint(resp.Header); strings.Contains(all, key) || !strings.Contains(text.String(), "refused Bearer [redacted:API_KEY]") {
				t.Errorf("stream=%v, %s: %s", stream, path, all)
			}
		}
		s.End()
	}
}
