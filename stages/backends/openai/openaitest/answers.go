package openaitest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

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
