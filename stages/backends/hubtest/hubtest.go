// Package hubtest is a test server of dataset repositories with the API of the
// Hugging Face hub: creation, trees, uploads by LFS in one piece or in parts,
// commits, downloads. It refuses what the hub refuses, and misbehaves on
// request. The hub's own Python client works with it.
package hubtest

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // git's names
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

// Token is the one that may write.
const Token = "hf_test_hush"

// Faults are what it does wrong, or only some stores do.
type Faults struct {
	Modes       map[string]string // how a file of an extension is uploaded; default: .parquet by lfs, the rest regular
	ChunkSize   int64             // larger contents are uploaded in parts
	NoOID       bool              // preupload does not say what is there
	NoIgnoreKey bool              // preupload leaves shouldIgnore out
	Ignored     string            // files of this extension are ignored
	PublicURLs  bool              // names uploads by the public hub's host

	EmptyCommitURL   bool
	NoCommitOID      bool
	CommitRefused    int    // with this code, each time
	AppliedThen500   int    // commits that are made, and answered with 500
	DropAfterCommit  int    // commits that are made, and not answered
	DropBeforeCommit int    // commits that are neither
	Committed        func() // called when a commit was made, before the answer
	Intruders        int    // commits by another client just before ours

	Busy          int // times that each address answers 429 first
	PutFails      int // times that storage answers 503 first
	NoETag        bool
	VerifyRefused bool
	BatchError    string // why an object is not acceptable

	CreateForbidden bool // the token may not create
	CreateRaces     int  // times that another operation conflicts
	NoHead          bool // does not say what a branch's head is
	PageSize        int  // of a tree
	OpenToAll       bool // takes any token, or none
	EchoesToken     bool // says the token in its refusals
	OldKeys         bool // knows "private", and refuses "visibility"
}

// Hub is a store: a handler. Mount it under Prefix.
type Hub struct {
	Prefix string
	mux    *http.ServeMux

	mu      sync.Mutex
	faults  Faults
	repos   map[string]*repository
	objects map[string][]byte         // by SHA-256
	parts   map[string]map[int][]byte // of objects on their way
	busy    map[string]int
	puts    int
	log     []string
}

type repository struct {
	private bool
	commits []*commit
}

type commit struct {
	oid, title string
	files      map[string]*file
}

type file struct {
	data []byte
	lfs  bool
	in   string // the commit that put it there
}

// Server is a Hub that listens.
type Server struct {
	*httptest.Server
	*Hub
}

// Serve starts a server.
func Serve(f Faults) *Server {
	h := New("", f)
	return &Server{httptest.NewServer(h), h}
}

// New makes a store that is mounted under a prefix.
func New(prefix string, f Faults) *Hub {
	f.PageSize = cmp.Or(f.PageSize, 1000)
	h := &Hub{Prefix: prefix, faults: f, mux: http.NewServeMux(), repos: map[string]*repository{},
		objects: map[string][]byte{}, parts: map[string]map[int][]byte{}, busy: map[string]int{}}
	const repo = "/api/datasets/{owner}/{name}"
	for pattern, serve := range map[string]http.HandlerFunc{
		"POST /api/repos/create":                               h.create,
		"GET /api/whoami-v2":                                   h.whoami,
		"POST /api/validate-yaml":                              h.card,
		"GET " + repo:                                          h.at(h.info),
		"GET " + repo + "/revision/{rev}":                      h.at(h.info),
		"GET " + repo + "/tree/{rev}":                          h.at(h.tree),
		"GET " + repo + "/tree/{rev}/{path...}":                h.at(h.tree),
		"POST " + repo + "/paths-info/{rev}":                   h.at(h.pathsInfo),
		"POST " + repo + "/preupload/{rev}":                    h.at(h.preupload),
		"POST " + repo + "/commit/{rev}":                       h.at(h.commit),
		"POST /datasets/{owner}/{git}/info/lfs/objects/batch":  h.at(h.batch),
		"GET /datasets/{owner}/{name}/resolve/{rev}/{path...}": h.at(h.resolve),
		"PUT /_store/{oid}":                                    h.put,
		"PUT /_store/{oid}/{part}":                             h.put,
		"GET /_store/{oid}":                                    h.get,
		"POST /_store/{oid}/parts":                             h.complete,
		"POST /api/verify":                                     h.verify,
	} {
		h.mux.HandleFunc(pattern, serve)
	}
	return h
}

// ServeHTTP answers one request at a time.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	backendtest.Whole(http.HandlerFunc(h.serve)).ServeHTTP(w, r)
}

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, r.Method+" "+r.URL.Path)
	at := r.Method + r.URL.Path
	if h.busy[at] < h.faults.Busy {
		if h.busy[at]++; h.busy[at]%2 == 1 {
			w.Header().Set("Retry-After", "0")
		} else {
			w.Header().Set("Ratelimit", `"api";r=0;t=0`)
		}
		fail(w, http.StatusTooManyRequests, "", "slow down")
		return
	}
	if !strings.HasPrefix(r.URL.Path, h.Prefix+"/_store/") && !h.known(r) && r.Method != http.MethodGet &&
		r.Method != http.MethodHead {
		said := "Invalid credentials"
		if h.faults.EchoesToken {
			said += ": " + r.Header.Get("Authorization")
		}
		fail(w, http.StatusUnauthorized, "", said)
		return
	}
	http.StripPrefix(h.Prefix, h.mux).ServeHTTP(w, r)
}

func (h *Hub) known(r *http.Request) bool {
	return h.faults.OpenToAll || r.Header.Get("Authorization") == "Bearer "+Token
}

func fail(w http.ResponseWriter, code int, kind, message string) {
	if kind != "" {
		w.Header().Set("X-Error-Code", kind)
	}
	w.Header().Set("X-Error-Message", message)
	backendtest.JSON(w, code, map[string]string{"error": message})
}

func answer(w http.ResponseWriter, v any) { backendtest.JSON(w, http.StatusOK, v) }

func sum256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func blob(data []byte) string {
	sum := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(sum, "blob %d\x00", len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}

// lfsPointer is what git keeps of a file whose content is elsewhere.
func lfsPointer(data []byte) []byte {
	return fmt.Appendf(nil, "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", sum256(data), len(data))
}

func (h *Hub) mode(p string) string {
	mode, ok := h.faults.Modes[path.Ext(p)]
	if !ok {
		mode = "regular"
		if path.Ext(p) == ".parquet" {
			mode = "lfs"
		}
	}
	return mode
}

func (r *repository) head() *commit { return r.commits[len(r.commits)-1] }

func (r *repository) find(rev string) *commit {
	if rev == "" || rev == "main" || rev == "refs/heads/main" {
		return r.head()
	}
	at := slices.IndexFunc(r.commits, func(c *commit) bool { return c.oid == rev })
	if at < 0 {
		return nil
	}
	return r.commits[at]
}

func (r *repository) add(title string, change func(files map[string]*file)) *commit {
	files := map[string]*file{}
	parent := ""
	if len(r.commits) > 0 {
		parent = r.head().oid
		maps.Copy(files, r.head().files)
	}
	c := &commit{title: title, files: files}
	c.oid = blob(fmt.Append(nil, parent, title, len(r.commits)))
	change(files)
	for _, f := range files {
		f.in = cmp.Or(f.in, c.oid)
	}
	r.commits = append(r.commits, c)
	return c
}

// Files is what the head of a repository holds; nil when there is none.
func (h *Hub) Files(id string) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.repos[id] == nil {
		return nil
	}
	out := map[string]string{}
	for p, f := range h.repos[id].head().files {
		out[p] = string(f.data)
	}
	return out
}

// Commits are the titles of a repository's commits, oldest first, without the
// one that made it.
func (h *Hub) Commits(id string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.repos[id] == nil {
		return nil
	}
	var out []string
	for _, c := range h.repos[id].commits[1:] {
		out = append(out, c.title)
	}
	return out
}

// Repositories are the ids of all, sorted.
func (h *Hub) Repositories() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.repos))
}

// Log is every request so far, as METHOD PATH.
func (h *Hub) Log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.log)
}

// Put commits a file as another user would.
func (h *Hub) Put(id, path, content string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.repo(id).add("by somebody else", func(files map[string]*file) { files[path] = &file{data: []byte(content)} })
}

func (h *Hub) repo(id string) *repository {
	if h.repos[id] == nil {
		r := &repository{}
		r.add("initial commit", func(files map[string]*file) {
			files[".gitattributes"] = &file{data: []byte("*.parquet filter=lfs diff=lfs merge=lfs -text\n")}
		})
		h.repos[id] = r
	}
	return h.repos[id]
}

var birth = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format(time.RFC3339)
