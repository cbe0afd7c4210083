package hubtest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// place is a repository at a revision.
type place struct {
	*repository
	id  string
	rev *commit
}

// at finds the repository and the revision of a request.
func (h *Hub) at(serve func(http.ResponseWriter, *http.Request, place)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if git := r.PathValue("git"); git != "" {
			var ok bool
			if name, ok = strings.CutSuffix(git, ".git"); !ok {
				fail(w, http.StatusNotFound, "", "Not Found")
				return
			}
		}
		p := place{id: r.PathValue("owner") + "/" + name}
		p.repository = h.repos[p.id]
		if p.repository == nil || p.private && !h.known(r) {
			code := http.StatusUnauthorized
			if h.known(r) {
				code = http.StatusNotFound
			}
			fail(w, code, "RepoNotFound", "Repository not found")
			return
		}
		if p.rev = p.find(r.PathValue("rev")); p.rev == nil {
			fail(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+r.PathValue("rev"))
			return
		}
		serve(w, r, p)
	}
}

func (h *Hub) base(r *http.Request) string { return "http://" + r.Host + h.Prefix }

func (h *Hub) info(w http.ResponseWriter, r *http.Request, p place) {
	if h.faults.NoHead && r.PathValue("rev") != "" {
		fail(w, http.StatusNotFound, "", "Not Found")
		return
	}
	siblings := []any{}
	for _, path := range slices.Sorted(maps.Keys(p.rev.files)) {
		siblings = append(siblings, map[string]any{"rfilename": path})
	}
	answer(w, map[string]any{"_id": "1", "id": p.id, "author": strings.Split(p.id, "/")[0], "sha": p.rev.oid,
		"private": p.private, "gated": false, "disabled": false,
		"tags": []any{}, "downloads": 0, "likes": 0, "createdAt": birth, "lastModified": birth, "siblings": siblings})
}
