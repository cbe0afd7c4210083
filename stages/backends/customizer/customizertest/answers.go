package customizertest

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
)

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

func id(r *http.Request) string { return r.PathValue("ns") + "/" + r.PathValue("name") }
