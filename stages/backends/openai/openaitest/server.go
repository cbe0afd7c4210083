// Package openaitest is a test server of the OpenAI fine-tuning API: files,
// jobs, events, checkpoints, cancel. It refuses what the service refuses, and
// misbehaves when told to.
package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// Key is the key that it takes.
const Key = "sk-test-hush"

// Faults are what it does wrong.
type Faults struct {
	DropAfterJob   bool     // stores the job and drops the connection
	DropBeforeJob  bool     // drops the connection and stores nothing
	StatusAfterJob int      // stores the job and answers with this code
	ForgetsKeys    bool     // makes a second job for a second request of one idempotency key
	JobStatus      int      // refuses to make a job with this code
	FileStatuses   []string // what a file's status is, one a request; default uploaded, processed
	JobStatuses    []string // what a job's status is, one a request; default validating_files, queued, running, succeeded
	LateModel      int      // requests after success that name no model yet
	Busy           int      // GETs answered 429 with Retry-After: 0 before each is answered
	JobError       string   // the job's error object, as JSON
	NoMetadata     bool     // neither keeps nor filters by metadata
	OtherJobs      int      // jobs of others in the list
	Azure          bool     // wants api-key and api-version, answers 201
	EchoesKey      bool     // says the key in its refusals
	FilesRefused   int      // code for uploads
	PageSize       int      // the most that a list gives
	CancelTooLate  bool     // answers 400 to cancel
	EmptyJobAnswer bool     // makes the job, and answers with an empty object
}

// Job is a job that was made.
type Job struct {
	ID     string
	Key    string // the request's idempotency key
	Body   map[string]json.RawMessage
	asked  int
	status string
}

// Server is the server. Its fields are for tests that hold mu by Look.
type Server struct {
	*httptest.Server
	faults Faults

	mu    sync.Mutex
	jobs  []*Job
	files []*upload
	busy  map[string]int
}

type upload struct {
	id, name string
	data     []byte
	asked    int
}

// New starts a server.
func New(f Faults) *Server {
	if f.FileStatuses == nil {
		f.FileStatuses = []string{"uploaded", "processed"}
	}
	if f.JobStatuses == nil {
		f.JobStatuses = []string{"validating_files", "queued", "running", "succeeded"}
	}
	f.PageSize = cmp.Or(f.PageSize, 100)
	s := &Server{faults: f, busy: map[string]int{}}
	for i := range f.OtherJobs {
		s.jobs = append(s.jobs, &Job{ID: fmt.Sprint("ftjob-other-", i),
			Body: map[string]json.RawMessage{"model": []byte(`"m"`), "training_file": []byte(`"file-x"`),
				"metadata": []byte(`{"rollmill":"another"}`)}})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /files", s.postFile)
	mux.HandleFunc("GET /files", s.listFiles)
	mux.HandleFunc("GET /files/{id}", s.getFile)
	mux.HandleFunc("POST /fine_tuning/jobs", s.postJob)
	mux.HandleFunc("GET /fine_tuning/jobs", s.listJobs)
	mux.HandleFunc("GET /fine_tuning/jobs/{id}", s.getJob)
	mux.HandleFunc("POST /fine_tuning/jobs/{id}/cancel", s.cancel)
	mux.HandleFunc("GET /fine_tuning/jobs/{id}/events", s.events)
	mux.HandleFunc("GET /fine_tuning/jobs/{id}/checkpoints", s.checkpoints)
	s.Server = httptest.NewServer(s.gate(mux))
	return s
}

// gate wants the key and does what comes before any answer.
func (s *Server) gate(next http.Handler) http.Handler {
	return backendtest.Whole(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if s.faults.Azure {
			key = r.Header.Get("api-key")
			if r.URL.Query().Get("api-version") == "" {
				fail(w, http.StatusNotFound, "Resource not found", "")
				return
			}
		}
		if key != Key {
			said := "Incorrect API key provided"
			if s.faults.EchoesKey {
				said += ": " + key
			}
			fail(w, http.StatusUnauthorized, said, "")
			return
		}
		at := r.Method + r.URL.Path
		if r.Method == http.MethodGet && s.busy[at] < s.faults.Busy {
			s.busy[at]++
			w.Header().Set("Retry-After", "0")
			fail(w, http.StatusTooManyRequests, "slow down", "")
			return
		}
		s.busy[at] = 0
		next.ServeHTTP(w, r)
	}))
}

func fail(w http.ResponseWriter, code int, message, param string) {
	backendtest.JSON(w, code, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error",
		"param": param, "code": nil}})
}

func (s *Server) answer(w http.ResponseWriter, v any) {
	code := http.StatusOK
	if s.faults.Azure {
		code = http.StatusCreated
	}
	backendtest.JSON(w, code, v)
}

// Jobs are those that rollmill made.
func (s *Server) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Job
	for _, j := range s.jobs[s.faults.OtherJobs:] {
		out = append(out, *j)
	}
	return out
}

// File is the content of a file, by the part of its name after the token.
func (s *Server) File(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if strings.HasSuffix(f.name, "-"+kind+".jsonl") {
			return string(f.data)
		}
	}
	return ""
}

func (s *Server) postFile(w http.ResponseWriter, r *http.Request) {
	if s.faults.FilesRefused != 0 {
		fail(w, s.faults.FilesRefused, "no files today", "")
		return
	}
	if r.ContentLength < 0 {
		fail(w, http.StatusLengthRequired, "Content-Length is missing", "")
		return
	}
	if err := r.ParseMultipartForm(32 << 20); err != nil {
		fail(w, http.StatusBadRequest, err.Error(), "file")
		return
	}
	file, head, err := r.FormFile("file")
	if err != nil || r.FormValue("purpose") != "fine-tune" || !strings.HasSuffix(head.Filename, ".jsonl") {
		fail(w, http.StatusBadRequest, "the purpose or the file's name is wrong", "purpose")
		return
	}
	data, _ := io.ReadAll(file)
	if wrong := checkLines(data); wrong != "" {
		fail(w, http.StatusBadRequest, wrong, "file")
		return
	}
	f := &upload{id: fmt.Sprint("file-", len(s.files)+1), name: head.Filename, data: data}
	s.files = append(s.files, f)
	s.answer(w, s.shown(f))
}

// keys of a line, by one that tells the method.
var keys = map[string][]string{
	"input":    {"input", "preferred_output", "non_preferred_output"},
	"messages": {"messages", "tools", "parallel_tool_calls"},
}

func checkLines(data []byte) string {
	if len(data) == 0 || data[len(data)-1] != '\n' {
		return "the file is empty or does not end in a line"
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var row map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return fmt.Sprintf("line %d: %v", n+1, err)
		}
		for _, field := range []string{"input", "messages"} {
			if _, there := row[field]; !there {
				continue
			}
			for key := range row {
				if !slices.Contains(keys[field], key) {
					return fmt.Sprintf("line %d: unexpected key %q", n+1, key)
				}
			}
			break
		}
	}
	return ""
}

func (s *Server) shown(f *upload) map[string]any {
	status := s.faults.FileStatuses[min(f.asked, len(s.faults.FileStatuses)-1)]
	f.asked++
	return map[string]any{"id": f.id, "object": "file", "bytes": nil, "filename": f.name, "purpose": "fine-tune",
		"status": status, "status_details": "line 3 is bad", "news": 1}
}

func (s *Server) getFile(w http.ResponseWriter, r *http.Request) {
	for _, f := range s.files {
		if f.id == r.PathValue("id") {
			s.answer(w, s.shown(f))
			return
		}
	}
	fail(w, http.StatusNotFound, "no such file", "")
}

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request) {
	var all []map[string]any
	for _, f := range s.files {
		all = append(all, map[string]any{"id": f.id, "filename": f.name})
	}
	s.page(w, r, all)
}

// page gives what follows the cursor.
func (s *Server) page(w http.ResponseWriter, r *http.Request, all []map[string]any) {
	from := 0
	if after := r.URL.Query().Get("after"); after != "" {
		from = slices.IndexFunc(all, func(m map[string]any) bool { return m["id"] == after }) + 1
	}
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 {
		limit = 20
	}
	to := min(len(all), from+min(limit, s.faults.PageSize))
	s.answer(w, map[string]any{"object": "list", "data": append([]map[string]any{}, all[from:to]...),
		"has_more": to < len(all)})
}
