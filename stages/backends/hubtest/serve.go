package hubtest

import (
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

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
