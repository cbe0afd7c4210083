package recorder

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// Recorder is the proxy. It is safe for concurrent use.
type Recorder struct {
	opts    Options
	engines *engines.Pool
	url     string
	server  *http.Server
	direct  *http.Client // of Client

	mu       sync.RWMutex
	sessions map[string]*Session // by key
}

// New begins to listen. The caller must Close the recorder.
func New(o Options) (*Recorder, error) {
	o = o.withDefaults()
	if len(o.Endpoints) == 0 {
		return nil, fmt.Errorf("the recording proxy has no endpoint to forward to")
	}
	for _, fields := range []map[string]any{o.Sampling, o.Extra} {
		if _, err := json.Marshal(fields); err != nil {
			return nil, fmt.Errorf("request fields: %w", err)
		}
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listening for the agents' calls: %w", err)
	}
	r := &Recorder{opts: o, url: "http://" + l.Addr().String(), sessions: map[string]*Session{}, engines: engines.NewPool(o.Settings)}
	if o.Advertise != "" {
		r.url = strings.TrimRight(o.Advertise, "/")
	}
	handler := r.route()
	r.direct = &http.Client{Transport: direct{handler}}
	r.server = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	r.server.Protocols = new(http.Protocols)
	r.server.Protocols.SetHTTP1(true)
	r.server.Protocols.SetUnencryptedHTTP2(true) // of clients that begin with it
	go r.server.Serve(l)
	return r, nil
}

// Close stops listening and ends every session's calls.
func (r *Recorder) Close() error {
	err := r.server.Close()
	r.engines.Close()
	return err
}

// Begin opens a trajectory's base URL. group keeps trajectories that share
// prompts on one endpoint. The session's calls end with ctx.
func (r *Recorder) Begin(ctx context.Context, trajectoryID, group string, resume ...Resume) *Session {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Session{recorder: r, id: trajectoryID, group: group, key: rand.Text(), ctx: ctx, cancel: cancel}
	if resume != nil {
		s.resume, s.earlier = resume[0], newAnswers(resume[0].Answered)
		if s.resume.Origin != nil {
			s.origin = newAnswers(slices.Clone(s.resume.Origin)) // other forks have it too
			for _, a := range s.resume.Origin {
				if a.Index < s.resume.Fork {
					s.prefix++
				}
			}
		}
	}
	s.cut, s.cutOff = context.WithCancel(context.WithoutCancel(ctx))
	r.engines.Join(group)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[s.key] = s
	return s
}

func (r *Recorder) forget(s *Session) {
	r.engines.Leave(s.group)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, s.key)
}

func (r *Recorder) route() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/t/{key}/v1/{path...}", r.handle)
	mux.HandleFunc("/t/{key}/f/{function}/v1/{path...}", r.handle)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		writeError(w, http.StatusNotFound, "not_found_error",
			fmt.Sprintf("there is no %s %s: the address of a trajectory's model ends in /v1", req.Method, req.URL.Path))
	})
	return mux
}

func (r *Recorder) handle(w http.ResponseWriter, req *http.Request) {
	r.mu.RLock()
	s := r.sessions[req.PathValue("key")]
	r.mu.RUnlock()
	if s == nil || !s.enter() {
		writeError(w, http.StatusGone, "not_found_error", "this trajectory has ended")
		return
	}
	defer s.busy.Done()
	func() {
		defer s.bound(w)()
		r.serve(s, w, req)
	}()
	s.stopIfUnfit()
}

// writeGrace is how long an agent has to read the end of an answer after its handler has returned.
const writeGrace = time.Minute

// bound ends the reading of a request and the writing of its answer a little after the session has ended: otherwise an
// agent that stopped reading, or that never ends its request, would block the session for ever. Until then an agent may
// be as slow as it likes. The caller calls served when the request is done.
func (s *Session) bound(w http.ResponseWriter) (served func()) {
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Time{}) // left from the connection's last request
	stop := context.AfterFunc(s.cut, func() {
		now := time.Now()
		_ = c.SetReadDeadline(now)
		_ = c.SetWriteDeadline(now)
	})
	return func() {
		if stop() {
			_ = c.SetWriteDeadline(time.Now().Add(writeGrace))
		}
	}
}

// writeError answers in a form that the clients of OpenAI and of Anthropic read,
// and asks them not to retry: this process has retried already.
func writeError(w http.ResponseWriter, status int, kind, text string) {
	body, _ := json.Marshal(map[string]any{"type": "error",
		"error": map[string]any{"message": text, "type": kind, "code": nil, "param": nil}})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	w.Write(body)
}
