package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// TestLargeAnswersDoNotWaitForEachOther: of several at once, none is complete
// before the engine has sent most of each. They arrive all the same.
func TestLargeAnswersDoNotWaitForEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		answers, size int // MiB
		stream        bool
	}{"whole": {6, 48, false}, "streams": {2, 66, true}} {
		t.Run(name, func(t *testing.T) {
			var here sync.WaitGroup
			here.Add(c.answers)
			r := serving(t, func(w http.ResponseWriter, r *http.Request) {
				kind, choice, line := "application/json", `"message":{"role":"assistant","content":"x"}`, " "
				if c.stream {
					kind, choice, line = "text/event-stream", `"delta":{"content":"x"}`, ": still here\n\n"
				}
				begin := `{"model":"policy","choices":[{"index":0,` + choice + `,"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]`
				w.Header().Set("Content-Type", kind)
				if c.stream {
					fmt.Fprint(w, "data: {\"model\":\"policy\",\"choices\":[]}\n\n")
				} else {
					fmt.Fprint(w, begin)
				}
				piece := []byte(strings.Repeat(line, 1<<20/len(line)))
				for range c.size {
					_, _ = w.Write(piece)
				}
				here.Done()
				here.Wait()
				if c.stream {
					fmt.Fprint(w, "data: "+begin+"}\n\ndata: [DONE]\n\n")
				} else {
					fmt.Fprint(w, "}")
				}
			}, func(o *recorder.Options) { o.NoLogprobs, o.CallTimeout = true, time.Minute })
			var all sync.WaitGroup
			for i := range c.answers {
				all.Go(func() {
					s := r.Begin(context.Background(), fmt.Sprint("t", i), "g")
					status, out := ask(t, s, fields{"stream": c.stream}, user("one"))
					if rec := s.End(); status != 200 || rec.LastCall != nil {
						t.Errorf("%d %.200s %+v", status, out, rec.LastCall)
					}
				})
			}
			all.Wait()
		})
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
			resp, err := http.Post(s.BaseURL()+"/chat/completions", "application/json",
				strings.NewReader(`{"model":"policy","stream":true,"messages":[{"role":"user","content":"x"}]}`))
			if err == nil { // else nothing had been passed on when it was cut off
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			rec := s.End()
			if rec.LastCall == nil || rec.LastCall.Class != outcomes.FailEngine || !strings.Contains(rec.LastCall.Text, "longer than 256 MiB") {
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
			if all := text.String() + fmt.Sprint(resp.Header); strings.Contains(all, key) ||
				!strings.Contains(text.String(), "refused Bearer [redacted:API_KEY]") {
				t.Errorf("stream=%v, %s: %s", stream, path, all)
			}
		}
		s.End()
	}
}
