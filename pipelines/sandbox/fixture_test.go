package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// host is a sandbox behind a real socket.
type host struct {
	t       *testing.T
	url     string
	stop    func() // for a restart; otherwise the test's end does it
	*Server        // nil of one that is a process of its own
}

func start(t *testing.T, o Options) host {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	stop := sync.OnceFunc(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return host{t, web.URL, stop, s}
}

type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // of the connection, or of reading the body
}

func (h host) do(method, path, body string, header ...string) reply {
	h.t.Helper()
	req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, text, err}
}

// want fails unless the reply has the status, and decodes it.
func (r reply) want(t *testing.T, status int, into any) reply {
	t.Helper()
	if r.err != nil || r.status != status {
		t.Fatalf("status %d, want %d: %s (%v)", r.status, status, r.body, r.err)
	}
	if into != nil {
		if err := json.Unmarshal(r.body, into); err != nil {
			t.Fatalf("%s: %v", r.body, err)
		}
	}
	return r
}

const emptyBoard = `A . . .\nB . . .\nC . . .`

// ask is a chat request with all that a recorder asks for; more are further
// members of the object.
func ask(model, prompt, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"%s"}],"logprobs":true,"return_token_ids":true%s}`, model, prompt, more)
}

func (h host) chat(body string) chatResponse {
	h.t.Helper()
	var c chatResponse
	h.do("POST", "/v1/chat/completions", body).want(h.t, 200, &c)
	return c
}

// spoken is what a model says to an empty board, with its chances: equal for
// equal weights, different for different ones.
func (h host) spoken(model string) string {
	h.t.Helper()
	c := h.chat(ask(model, emptyBoard, `"seed":5,"top_logprobs":12`))
	text, err := json.Marshal(c.Choices)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

const student = `{"name":"student","project":"demo","base_model":"some/base"}`

// batch makes two groups of four answers to two boards, rewarded by n.
func batch(t *testing.T, n int) []any {
	t.Helper()
	p := newPolicy(8, int64(n))
	var groups []any
	for g, prompt := range []string{"A . . .\nB . . .\nC . . .", "A X . .\nB . O .\nC . . ."} {
		var members []any
		for i := range 4 {
			v := readView([]turn{{"user", prompt}})
			a := p.sample(v, sampling{temperature: 1, topP: 1, maxTokens: 16, seed: uint64(n*100 + g*10 + i)}, 0)
			members = append(members, map[string]any{
				"messages_and_choices": []any{map[string]any{"role": "user", "content": prompt}, choiceOf(a)},
				"reward":               math.Mod(float64(i*i+n)*0.37, 1), "metrics": map[string]any{"win": i%2 == 0},
			})
		}
		groups = append(groups, map[string]any{"trajectories": members})
	}
	return groups
}

func choiceOf(a answer) map[string]any {
	r := chatRequest{Logprobs: true, ReturnTokensAsTokenIDs: true}
	return map[string]any{
		"finish_reason": a.finish, "index": 0, "message": map[string]any{"role": "assistant", "content": a.text},
		"logprobs": r.logprobs(a, 0, len(a.ids)),
	}
}

// trainBody is a training call with the groups.
func trainBody(t *testing.T, groups any, config string) string {
	t.Helper()
	text, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	if config == "" {
		config = `{"learning_rate":0.01}`
	}
	return fmt.Sprintf(`{"model":%s,"trajectory_groups":%s,"config":%s,"dev_config":{}}`, student, text, config)
}

func (h host) train(n int, header ...string) reply {
	h.t.Helper()
	return h.do("POST", "/_train_model", trainBody(h.t, batch(h.t, n), ""), header...)
}

func (h host) step() int {
	h.t.Helper()
	var step int
	h.do("POST", "/_get_step", student).want(h.t, 200, &step)
	return step
}

func (h host) state(submission string) trainingState {
	h.t.Helper()
	var s trainingState
	h.do("GET", "/_rollmill/training?project=demo&model=student&submission="+submission, "").want(h.t, 200, &s)
	return s
}

func (h host) counts() Counts {
	h.t.Helper()
	var c Counts
	h.do("GET", "/_rollmill/counts", "").want(h.t, 200, &c)
	return c
}

// hold makes the next training wait before its commit: held is closed when it does.
func (h host) hold() (held <-chan struct{}, release func()) {
	waits, goes := make(chan struct{}), make(chan struct{})
	h.beforeCommit = func() {
		close(waits)
		<-goes
	}
	return waits, func() { close(goes) }
}

// said is a message's text.
func (m *chatText) said() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// add joins a piece of a stream, as clients do.
func (m *chatText) add(piece *chatText) {
	text := m.said() + piece.said()
	m.Content = &text
	for _, p := range piece.ToolCalls {
		if p.ID != "" {
			m.Content, p.Index = nil, nil
			m.ToolCalls = append(m.ToolCalls, p)
			continue
		}
		m.ToolCalls[*p.Index].Function.Arguments += p.Function.Arguments
	}
	if len(m.ToolCalls) > 0 {
		m.Content = nil
	}
}

// text is the inverse of appendTokens.
func text(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(tokenText(id))
	}
	return b.String()
}
