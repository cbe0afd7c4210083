// Package customizertest is a test server of the NeMo Microservices 25.x:
// Entity Store, Customizer, deployments and NIM behind one address, the Data
// Store behind another. It refuses what the service refuses, and misbehaves
// when told to.
package customizertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

// Key and Token are the ones that it takes.
const (
	Key   = "nvapi-test-hush"
	Token = hubtest.Token
	Model = "meta/llama-3.2-1b-instruct"
	// Config trains DPO and SFT of every kind, in sequences of 4096.
	Config = Model + "@v1.0.0+A100"
)

// Faults are what it does wrong, or only some releases do.
type Faults struct {
	Store hubtest.Faults // of the Data Store's repositories

	DropAfterJob   bool // stores the job and drops the connection
	DropBeforeJob  bool // drops the connection and stores nothing
	EmptyJobAnswer bool
	StatusAfterJob int      // stores the job and answers with this code
	JobStatus      int      // refuses to make a job with this code
	Statuses       []string // what a job's status is, one a request; default created, pending, running, completed
	StatusFails    int      // times that the status answers 500 first
	NullProgress   bool     // everything but the status is null
	Failure        string   // what a failed job's log says
	NoResources    bool     // a waiting job says so
	NoFields       bool     // does not keep custom fields
	OtherJobs      int
	LateModel      int  // requests after the end that name no model yet
	CancelTooLate  bool // answers 409

	Newer          bool // the NeMo Platform: no such routes
	NamespaceGone  bool // 422 to namespaces that are not there: they may not be made
	NamespaceExist bool // a namespace appears between the look and the making
	DatasetTaken   bool // the dataset's record means other files
	DatasetStuck   bool // and cannot be changed

	DeploymentExists500 bool     // makes the deployment and says with a 500 that it exists
	DeploymentStates    []string // one a request; default pending, ready
	OtherDeployments    int
	LateList            int  // requests that do not list the model yet
	PageSize            int  // the most that a list gives
	NoPages             bool // a list does not say how many pages it has
	EchoesKey           bool
	Open                bool // wants no key
}

// Job is a job that was made.
type Job struct {
	ID    string
	Body  map[string]json.RawMessage
	Files map[string]string // what its dataset held when it was made
	WandB string            // the key that came with it

	asked, late, fails int
	status             string
}

// Server is the server.
type Server struct {
	*httptest.Server // the gateway
	Datastore        *httptest.Server
	Hub              *hubtest.Hub

	mu          sync.Mutex
	faults      Faults
	jobs        []*Job
	entity      map[string]bool // namespaces
	datastore   map[string]bool
	datasets    map[string]map[string]any
	configs     map[string]map[string]any // of deployments
	deployments map[string]*deployment
	lists       int // of the NIM's models
}

type deployment struct {
	body  map[string]any
	asked int
}

// New starts a server.
func New(f Faults) *Server {
	if f.Statuses == nil {
		f.Statuses = []string{"created", "pending", "running", "completed"}
	}
	if f.DeploymentStates == nil {
		f.DeploymentStates = []string{"pending", "ready"}
	}
	f.PageSize = cmp.Or(f.PageSize, 10)
	f.Store.OldKeys, f.Store.OpenToAll = true, true
	if f.Store.Modes == nil {
		f.Store.Modes = map[string]string{".jsonl": "lfs"}
	}
	s := &Server{faults: f, Hub: hubtest.New("/v1/hf", f.Store), entity: map[string]bool{}, datastore: map[string]bool{},
		datasets: map[string]map[string]any{}, configs: map[string]map[string]any{}, deployments: map[string]*deployment{}}
	for n := range f.OtherJobs {
		s.jobs = append(s.jobs, &Job{ID: fmt.Sprint("cust-other-", n),
			Body: map[string]json.RawMessage{"name": []byte(`"theirs"`), "custom_fields": []byte(`null`)}})
	}
	for n := range f.OtherDeployments {
		s.deployments[fmt.Sprint("acme/a-", n)] = &deployment{}
	}
	s.Server = httptest.NewServer(s.gate(s.routes()))
	data := http.NewServeMux()
	data.Handle("/v1/hf/", s.Hub)
	data.HandleFunc("POST /v1/datastore/namespaces", s.makeStoreNamespace)
	data.HandleFunc("GET /v1/datastore/namespaces/{ns}", s.storeNamespace)
	s.Datastore = httptest.NewServer(data)
	return s
}

// Close ends both.
func (s *Server) Close() {
	s.Server.Close()
	s.Datastore.Close()
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]http.HandlerFunc{
		"POST /v1/namespaces":                              s.makeNamespace,
		"GET /v1/namespaces/{ns}":                          s.namespace,
		"POST /v1/datasets":                                s.makeDataset,
		"GET /v1/datasets/{ns}/{name}":                     s.dataset,
		"PATCH /v1/datasets/{ns}/{name}":                   s.patchDataset,
		"GET /v1/customization/configs":                    s.listConfigs,
		"POST /v1/customization/jobs":                      s.makeJob,
		"GET /v1/customization/jobs":                       s.listJobs,
		"GET /v1/customization/jobs/{id}":                  s.getJob,
		"GET /v1/customization/jobs/{id}/status":           s.jobStatus,
		"POST /v1/customization/jobs/{id}/cancel":          s.cancel,
		"POST /v1/deployment/configs":                      s.makeDeploymentConfig,
		"GET /v1/deployment/configs/{ns}/{name}":           s.deploymentConfig,
		"POST /v1/deployment/model-deployments":            s.makeDeployment,
		"GET /v1/deployment/model-deployments":             s.listDeployments,
		"GET /v1/deployment/model-deployments/{ns}/{name}": s.deployment,
		"GET /v1/models":                                   s.models,
	} {
		mux.HandleFunc(pattern, serve)
	}
	return mux
}

func (s *Server) gate(next http.Handler) http.Handler {
	return backendtest.Whole(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if at, sent := r.Header["Authorization"]; !s.faults.Open && (!sent || at[0] != "Bearer "+Key) {
			detail := "unauthorized"
			if s.faults.EchoesKey {
				detail += fmt.Sprint(": ", at)
			}
			fail(w, http.StatusUnauthorized, detail)
			return
		}
		if s.faults.Newer {
			fail(w, http.StatusNotFound, "Not Found")
			return
		}
		next.ServeHTTP(w, r)
	}))
}

func fail(w http.ResponseWriter, code int, detail any) {
	backendtest.JSON(w, code, map[string]any{"detail": detail})
}

func answer(w http.ResponseWriter, v any) { backendtest.JSON(w, http.StatusOK, v) }

func invalid(w http.ResponseWriter, field, message string) {
	fail(w, http.StatusUnprocessableEntity,
		[]any{map[string]any{"loc": []string{"body", field}, "msg": message, "type": "value_error"}})
}

// page gives one page of a list, in the service's envelope.
func page[T any](s *Server, w http.ResponseWriter, r *http.Request, all []T) {
	number := func(key string, otherwise int) int {
		n, err := strconv.Atoi(r.URL.Query().Get(key))
		if err != nil || n < 1 {
			return otherwise
		}
		return n
	}
	size := min(number("page_size", 10), s.faults.PageSize)
	n := number("page", 1)
	from := min(len(all), (n-1)*size)
	to := min(len(all), from+size)
	pages := map[string]any{"page": n, "page_size": size, "current_page_size": to - from}
	if !s.faults.NoPages {
		pages["total_pages"] = (len(all) + size - 1) / size
	}
	answer(w, map[string]any{"object": "list", "data": append([]T{}, all[from:to]...), "pagination": pages})
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

// Deployments are the bodies of those that were made, with their configs.
func (s *Server) Deployments() (bodies, configs []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deployments {
		if d.body != nil {
			bodies = append(bodies, d.body)
		}
	}
	return bodies, slices.Collect(maps.Values(s.configs))
}

func id(r *http.Request) string { return r.PathValue("ns") + "/" + r.PathValue("name") }

func (s *Server) makeNamespace(w http.ResponseWriter, r *http.Request) {
	var body struct{ ID string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.ID == "" || s.faults.NamespaceGone {
		invalid(w, "id", "no such namespace may be made")
		return
	}
	if s.named(w, s.entity, body.ID) {
		answer(w, map[string]any{"id": body.ID})
	}
}

// named adds a namespace, unless it is there.
func (s *Server) named(w http.ResponseWriter, all map[string]bool, name string) bool {
	there := all[name] || s.faults.NamespaceExist
	if all[name] = true; there {
		fail(w, http.StatusConflict, "namespace exists")
	}
	return !there
}

func (s *Server) namespace(w http.ResponseWriter, r *http.Request) {
	if !s.entity[r.PathValue("ns")] {
		fail(w, http.StatusNotFound, "no such namespace")
		return
	}
	answer(w, map[string]any{"id": r.PathValue("ns")})
}

func (s *Server) makeStoreNamespace(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ns := r.PostFormValue("namespace")
	if ns == "" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		invalid(w, "namespace", "field required")
		return
	}
	if s.named(w, s.datastore, ns) {
		backendtest.JSON(w, http.StatusCreated, map[string]any{"namespace": ns})
	}
}

func (s *Server) storeNamespace(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.datastore[r.PathValue("ns")] {
		fail(w, http.StatusNotFound, "no such namespace")
		return
	}
	backendtest.JSON(w, http.StatusCreated, map[string]any{"namespace": r.PathValue("ns"), "created_at": "2026-01-02T03:04:05"})
}
