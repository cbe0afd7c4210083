package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// logprobText is a logprob as Python writes one of 32 bits.
func logprobText(i int) string {
	return strconv.FormatFloat(-float64(float32(i*4211%10000000)/3333333), 'g', -1, 64)
}

// longAnswer is a body of n tokens with logprobs and ids, as vLLM writes it.
func longAnswer(n int) []byte {
	var content, entries, ids bytes.Buffer
	for i := range n {
		if i > 0 {
			entries.WriteByte(',')
			ids.WriteByte(',')
		}
		fmt.Fprintf(&content, "word%d ", i)
		fmt.Fprintf(&entries, `{"token":"token_id:%d","logprob":%s,"bytes":[119,111,114,100],"top_logprobs":[]}`, i*7, logprobText(i))
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
			a := &completion.Answer{}
			if _, err := a.Add(body, completion.View{}); err != nil {
				b.Fatal(err)
			}
			a.Choices[0].Assemble()
			if _, f := a.KeepTokens(); f != nil {
				b.Fatal(f)
			}
		}
	})
	for name, view := range map[string]string{"stream": "", "stream-top-5": `,"logprobs":true,"top_logprobs":5`} {
		q, err := apis.ParseRequest(apis.Chat, []byte(`{"model":"policy","stream":true,"messages":[{"role":"user","content":"hi"}]`+view+`}`), nil)
		if err != nil {
			b.Fatal(err)
		}
		stream := bytes.Join(longStream(2000), nil)
		if view != "" {
			stream = withTop(stream, 5)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			defer cpuTime(b)()
			for b.Loop() {
				a, events, seen := &completion.Answer{}, completion.NewEventReader(bytes.NewReader(stream), func() {}), []byte(nil)
				for e, err := events.Next(); err != io.EOF; e, err = events.Next() {
					if err == nil {
						err = e.AddTo(a, q.View)
					}
					if err != nil {
						b.Fatal(err)
					}
					seen = e.AppendVisible(seen[:0])
				}
				a.Choices[0].Assemble()
				if _, f := a.KeepTokens(); f != nil {
					b.Fatal(f)
				}
			}
		})
	}
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

// BenchmarkCall is a whole call of an agent, through the recorder (by chat
// completions and by messages) and straight to the engine; the difference is the
// recorder's.
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
			resp, err := http.Post(url, "application/json", bytes.NewReader([]byte(`{"model":"policy","messages":[{"role":"user","content":"what is 2+2?"}]}`)))
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		b.Run(fmt.Sprintf("direct-%d", tokens), func(b *testing.B) {
			defer cpuTime(b)()
			for b.Loop() {
				call(b, engine.URL+"/chat/completions")
			}
		})
		for _, kind := range []*apis.API{apis.Chat, apis.Messages} {
			b.Run(fmt.Sprintf("%s-%d", kind.Name, tokens), func(b *testing.B) {
				r, err := New(Options{Settings: engines.Settings{Endpoints: []string{engine.URL}}, Defaults: apis.Defaults{Model: "policy"}})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				defer cpuTime(b)()
				for b.Loop() {
					s := r.Begin(context.Background(), "t", "g")
					call(b, s.BaseURL()+kind.Route)
					if rec := s.End(); rec.Untrainable != nil {
						b.Fatal(rec.Untrainable)
					}
				}
			})
		}
	}
}

// BenchmarkAddedLatency is what the recorder adds to a call of 2000 tokens with
// logprobs at the median: each call through it is paired with one straight to
// the engine and one through a proxy that only copies, so that what else the
// machine does weighs on all alike. The agent that asks for logprobs gets all that the engine wrote. The stream comes
// at 50 tokens a millisecond, more than any engine gives one caller; the burst
// comes as fast as it can be written, and shows the work for each event.
func BenchmarkAddedLatency(b *testing.B) {
	bodies, streams := [][]byte{longAnswer(2000)}, [][][]byte{longStream(2000)}
	for _, top := range []int{1, 5} { // an agent that asks for that many
		bodies, streams = append(bodies, withTop(bodies[0], top)), append(streams, nil)
		for _, event := range streams[0] {
			streams[len(bodies)-1] = append(streams[len(bodies)-1], withTop(event, top))
		}
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, _ := io.ReadAll(r.Body)
		whole, stream := bodies[0], streams[0]
		for i, asked := range []string{`"top_logprobs":1`, `"top_logprobs":5`} {
			if bytes.Contains(q, []byte(asked)) {
				whole, stream = bodies[i+1], streams[i+1]
			}
		}
		if !bytes.Contains(q, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
			w.Write(whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		began := time.Now()
		for i, event := range stream {
			if i%50 == 0 && bytes.Contains(q, []byte(`"paced":true`)) {
				time.Sleep(time.Until(began.Add(time.Duration(i/50) * time.Millisecond)))
			}
			w.Write(event)
			flush()
		}
	}))
	defer engine.Close()
	copier := httptest.NewServer(copyingProxy(engine.URL))
	defer copier.Close()
	for _, c := range []struct{ name, asks string }{{"whole", ""}, {"logprobs", `,"logprobs":true`},
		{"top-1", `,"logprobs":true,"top_logprobs":1`}, {"top-5", `,"logprobs":true,"top_logprobs":5`},
		{"stream-top-5", `,"stream":true,"paced":true,"logprobs":true,"top_logprobs":5`},
		{"stream", `,"stream":true,"paced":true`}, {"burst", `,"stream":true`}} {
		b.Run(c.name, func(b *testing.B) {
			r, err := New(Options{Settings: engines.Settings{Endpoints: []string{engine.URL}}, Defaults: apis.Defaults{Model: "policy"}})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			client := &http.Client{Transport: &http.Transport{ReadBufferSize: 64 << 10}}
			defer client.CloseIdleConnections()
			call := func(url string, all *calls) {
				from, cpu := time.Now(), usedTime()
				resp, err := client.Post(url+"/chat/completions", "application/json",
					strings.NewReader(`{"model":"policy","messages":[{"role":"user","content":"what is 2+2?"}]`+c.asks+`}`))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
				all.took, all.cpu = append(all.took, time.Since(from)), append(all.cpu, time.Duration(usedTime()-cpu))
			}
			var direct, copied, recorded calls
			for b.Loop() {
				call(engine.URL, &direct)
				call(copier.URL, &copied)
				s := r.Begin(context.Background(), "t", "g")
				call(s.BaseURL(), &recorded)
				if rec := s.End(); rec.Untrainable != nil || rec.LastCall != nil {
					b.Fatal(rec.Untrainable, rec.LastCall)
				}
			}
			d, k, m := median(direct.took), median(copied.took), median(recorded.took)
			b.ReportMetric(ms(d), "direct-ms")
			b.ReportMetric(ms(m), "recorded-ms")
			b.ReportMetric(ms(k-d), "copy-adds-ms")
			b.ReportMetric(ms(m-d), "added-ms")
			b.ReportMetric(ms(median(copied.cpu)-median(direct.cpu)), "copy-adds-cpu-ms")
			b.ReportMetric(ms(median(recorded.cpu)-median(direct.cpu)), "added-cpu-ms")
		})
	}
}

// calls are the times of calls, and the processor times of all who took part.
type calls struct{ took, cpu []time.Duration }

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// copyingProxy forwards a call and its answer, each piece as it arrives, and
// does nothing else: no proxy adds less.
func copyingProxy(target string) http.Handler {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64, ReadBufferSize: 64 << 10}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := client.Post(target+r.URL.Path, r.Header.Get("Content-Type"), r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		io.Copy(flusher{w}, resp.Body)
	})
}

// withTop gives each token of an answer n alternatives.
func withTop(answer []byte, n int) []byte {
	one := `{"token":"token_id:12345","logprob":-3.4028234663852886,"bytes":[119,111,114,100]}`
	all := strings.Repeat(","+one, n)[1:]
	return bytes.ReplaceAll(answer, []byte(`"top_logprobs":[]`), []byte(`"top_logprobs":[`+all+`]`))
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// longStream is the same answer in events, a token each.
func longStream(n int) (events [][]byte) {
	for i := range n {
		finish := "null"
		if i == n-1 {
			finish = `"stop"`
		}
		events = append(events, fmt.Appendf(nil,
			`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"policy","choices":[{"index":0,"delta":{"content":"word%d "},"logprobs":{"content":[{"token":"token_id:%d","logprob":%s,"bytes":[119,111,114,100],"top_logprobs":[]}]},"finish_reason":%s,"token_ids":[%d]}]}`+"\n\n",
			i, i*7, logprobText(i), finish, i*7))
	}
	return append(events, []byte("data: [DONE]\n\n"))
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
