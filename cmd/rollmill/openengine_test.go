package main

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// openEngine is an engine that holds many calls at once. A call takes a seeded
// number of tokens, and as much time as they need. The first answers wait until
// as many calls are here as trajectories may be open.
//
// With step no time passes: a call is answered when every open trajectory has
// one here, and it is the one that is due first. So a trajectory that waits
// anywhere else stops all others, until the calls' time limit fails them.
type openEngine struct {
	open, total int           // trajectories at once, and all
	turns       int           // calls of each
	perToken    time.Duration // 0: an answer at once
	step        bool
	full        func() // called when `open` calls are here, before the first answer
	killAt      int    // answers after which kill is called; 0: never
	kill        func()
	url         string

	mu      sync.Mutex
	filled  chan struct{} // closed when `open` calls were here
	held    dueFirst      // of step
	here    int           // calls
	peak    int           // calls here at once
	answers int           // given
	ended   []moment      // of trajectories, in their order
	ready   map[int]moment
	waits   []wait
	given   map[int]int // answers by trajectory
	calls   []*heldCall // before the kill
	before  int         // answers before the kill
	killed  bool        // what is open since then is not known
}

// moment is a time, and the number of answers that were given before.
type moment struct {
	answers int
	at      time.Time
}

// wait lies between the moment when a call could begin and its arrival.
type wait struct {
	answers int // to others
	took    time.Duration
}

type heldCall struct {
	due, trajectory int // due in tokens since the beginning
	turn            int
	answer          chan struct{}
	lost            bool
}

type dueFirst []*heldCall

func (h dueFirst) Len() int { return len(h) }
func (h dueFirst) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].trajectory < h[j].trajectory
}
func (h dueFirst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueFirst) Push(x any)   { *h = append(*h, x.(*heldCall)) }
func (h *dueFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (e *openEngine) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e.url, e.filled, e.ready = fmt.Sprintf("http://%s/v1", l.Addr()), make(chan struct{}), map[int]moment{}
	e.given = map[int]int{}
	server := &http.Server{Handler: e}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}

// ServeHTTP answers the call of turn k of trajectory i, whose first message asks
// "what is i + 1?"; any other call is a probe.
func (e *openEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct{ Messages []struct{ Content string } }
	var i, turn int
	_ = json.NewDecoder(r.Body).Decode(&q)
	tokens := 1
	if len(q.Messages) > 0 {
		if n, _ := fmt.Sscanf(q.Messages[0].Content, "what is %d", &i); n == 1 {
			turn = len(q.Messages) / 2
			tokens = openTokens(i, turn)
			if !e.hold(r, i, turn, tokens) {
				return
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	body := openAnswer(tokens)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// hold returns when the answer is due, or false if the caller is gone.
func (e *openEngine) hold(r *http.Request, i, turn, tokens int) bool {
	c := e.arrive(i, turn, tokens)
	answer := c.answer
	if !e.step {
		select {
		case <-e.filled:
		case <-r.Context().Done():
			return false
		}
		time.Sleep(time.Duration(tokens) * e.perToken)
		e.mu.Lock()
		defer e.mu.Unlock()
		if c.lost { // with the process that made it
			return false
		}
		e.give(c)
		return true
	}
	select {
	case <-answer:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (e *openEngine) arrive(i, turn, tokens int) *heldCall {
	e.mu.Lock()
	defer e.mu.Unlock()
	if could, ok := e.could(i); ok && !e.killed {
		e.waits = append(e.waits, wait{e.answers - could.answers, time.Since(could.at)})
	}
	e.here++
	e.peak = max(e.peak, e.here)
	c := &heldCall{due: e.answers + tokens, trajectory: i, turn: turn, answer: make(chan struct{})}
	if e.killAt > 0 {
		e.calls = append(e.calls, c)
	}
	if e.here == e.open && e.answers == 0 {
		e.full()
		close(e.filled)
	}
	if e.step {
		heap.Push(&e.held, c)
		if e.here == e.expected() {
			e.release()
		}
	}
	return c
}

// restart forgets the calls of a process that was killed: they get no answer.
func (e *openEngine) restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.calls {
		c.lost = true
	}
	e.calls, e.here, e.before, e.killed = nil, 0, e.answers, true
}

// could returns when trajectory i could make its next call: when it got its last
// answer, or, before its first call, when its place became free.
func (e *openEngine) could(i int) (moment, bool) {
	if m, ok := e.ready[i]; ok {
		return m, true
	}
	if n := i - e.open; n >= 0 && n < len(e.ended) {
		return e.ended[n], true
	}
	return moment{}, false
}

// expected is how many calls are here when no trajectory waits elsewhere.
func (e *openEngine) expected() int { return min(e.open, e.total-len(e.ended)) }

// release answers the call that is due first.
func (e *openEngine) release() {
	c := heap.Pop(&e.held).(*heldCall)
	e.give(c)
	close(c.answer)
	if e.here > 0 && e.here == e.expected() { // no trajectory begins in the place of one that ended
		e.release()
	}
}

// give counts an answer.
func (e *openEngine) give(c *heldCall) {
	e.here--
	e.answers++
	e.given[c.trajectory]++
	if e.answers == e.killAt {
		e.kill()
	}
	now := moment{e.answers, time.Now()}
	if c.turn == e.turns-1 {
		delete(e.ready, c.trajectory)
		e.ended = append(e.ended, now)
		return
	}
	e.ready[c.trajectory] = now
}

// openTokens is the length of an answer, from 20 to 200 tokens.
func openTokens(i, turn int) int {
	return 20 * (1 + rand.New(rand.NewPCG(uint64(i), uint64(turn))).IntN(10))
}

// openAnswer is an answer in vLLM's format with that many tokens, 1 or a
// multiple of 20.
func openAnswer(tokens int) []byte { return openAnswers[tokens/20]() }

var openAnswers = func() (all [11]func() []byte) {
	for i := range all {
		all[i] = sync.OnceValue(func() []byte {
			var entries, ids []string
			for k := range max(1, 20*i) {
				ids = append(ids, strconv.Itoa(7*k))
				entries = append(entries, fmt.Sprintf(`{"token":"token_id:%d","logprob":-%d.25,"bytes":[97],"top_logprobs":[]}`, 7*k, k%9))
			}
			return fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"policy","prompt_token_ids":[1,2,3],"choices":[{"index":0,"message":{"role":"assistant","content":"%s"},"logprobs":{"content":[%s]},"token_ids":[%s],"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`,
				strings.Repeat("word ", len(ids)), strings.Join(entries, ","), strings.Join(ids, ","), len(ids))
		})
	}
	return all
}()
