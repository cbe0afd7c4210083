package hubtest

import (
	"maps"
	"net/http"
	"slices"
	"sync"
)

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

// Commits are the titles of a repository's commits, oldest first, without the one that made it.
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
