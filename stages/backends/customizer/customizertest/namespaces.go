package customizertest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

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
