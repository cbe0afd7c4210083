package hubtest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages/backends/backendtest"
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

func (h *Hub) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name         string  `json:"name"`
		Organization *string `json:"organization"`
		Type         string  `json:"type"`
		Visibility   *string `json:"visibility"`
		Private      *bool   `json:"private"`
	}
	if err := json.NewDecoder(r.Body).
		Decode(&body); err != nil || body.Name == "" || body.Type != "dataset" || h.faults.OldKeys && body.Visibility != nil {
		fail(w, http.StatusBadRequest, "", fmt.Sprintf("bad body: %+v %v", body, err))
		return
	}
	if h.faults.CreateForbidden {
		fail(w, http.StatusForbidden, "", "You don't have the rights to create a dataset under this namespace")
		return
	}
	if h.faults.CreateRaces > 0 {
		h.faults.CreateRaces--
		fail(w, http.StatusConflict, "", "Another conflicting operation is in progress. Please retry.")
		return
	}
	owner := "tester"
	if body.Organization != nil {
		owner = *body.Organization
	}
	id := owner + "/" + body.Name
	url := map[string]any{"url": h.base(r) + "/datasets/" + id, "name": id, "id": "1"}
	if h.repos[id] != nil {
		w.Header().Set("X-Error-Message", "You already created this dataset repo")
		url["error"] = "You already created this dataset repo"
		backendtest.JSON(w, http.StatusConflict, url)
		return
	}
	h.repo(id).private = body.Private != nil && *body.Private || body.Visibility != nil && *body.Visibility == "private"
	answer(w, url)
}

func (h *Hub) base(r *http.Request) string { return "http://" + r.Host + h.Prefix }

// storage is on another host, as the hub's is: who goes there leaves the hub.
func (h *Hub) storage(r *http.Request) string {
	return "http://" + strings.Replace(r.Host, "127.0.0.1", "localhost", 1) + h.Prefix + "/_store/"
}

func (h *Hub) whoami(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.known(r):
		said := "Invalid username or password."
		if h.faults.EchoesToken {
			said += " " + r.Header.Get("Authorization")
		}
		fail(w, http.StatusUnauthorized, "", said)
	default:
		answer(w, map[string]any{"type": "user", "name": "tester", "fullname": "Tester",
			"orgs": []any{map[string]string{"name": "acme"}},
			"auth": map[string]any{"type": "access_token",
				"accessToken": map[string]string{"displayName": "t", "role": "write"}}})
	}
}

func (h *Hub) card(w http.ResponseWriter, r *http.Request) {
	var body struct{ Content, RepoType string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, "", err.Error())
		return
	}
	answer(w, map[string]any{"errors": []any{}, "warnings": []any{}})
}

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

func (f *file) entry(path string, expand bool) map[string]any {
	e := map[string]any{"type": "file", "path": path, "size": len(f.data), "oid": blob(f.data)}
	if f.lfs {
		pointer := lfsPointer(f.data)
		e["oid"] = blob(pointer)
		e["lfs"] = map[string]any{"oid": sum256(f.data), "size": len(f.data), "pointerSize": len(pointer)}
	}
	if expand {
		e["lastCommit"] = map[string]string{"id": f.in, "title": "", "date": birth}
		e["securityFileStatus"] = nil
	}
	return e
}

// list is a folder's files and folders; all below it when recursive.
func (c *commit) list(folder string, recursive, expand bool) []map[string]any {
	var out []map[string]any
	seen := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(c.files)) {
		rest, ok := strings.CutPrefix(p, folder)
		if !ok {
			continue
		}
		parts := strings.Split(rest, "/")
		for n := 1; n < len(parts) && (recursive || n == 1); n++ {
			if dir := folder + strings.Join(parts[:n], "/"); !seen[dir] {
				seen[dir] = true
				out = append(out, directory(dir))
			}
		}
		if recursive || len(parts) == 1 {
			out = append(out, c.files[p].entry(p, expand))
		}
	}
	return out
}

func directory(path string) map[string]any {
	return map[string]any{"type": "directory", "path": path, "size": 0, "oid": blob([]byte(path))}
}

func (h *Hub) tree(w http.ResponseWriter, r *http.Request, p place) {
	folder := strings.Trim(r.PathValue("path"), "/")
	if folder != "" {
		folder += "/"
	}
	q := r.URL.Query()
	all := p.rev.list(folder, truth(q.Get("recursive")), truth(q.Get("expand")))
	if len(all) == 0 && folder != "" {
		fail(w, http.StatusNotFound, "EntryNotFound", "no such folder")
		return
	}
	from, _ := strconv.Atoi(q.Get("cursor"))
	to := min(len(all), from+h.faults.PageSize)
	if to < len(all) {
		q.Set("cursor", strconv.Itoa(to))
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next"`, h.base(r), r.URL.Path, q.Encode()))
	}
	answer(w, append([]map[string]any{}, all[from:to]...))
}

func truth(text string) bool {
	yes, _ := strconv.ParseBool(text)
	return yes
}

func (h *Hub) pathsInfo(w http.ResponseWriter, r *http.Request, p place) {
	_ = r.ParseForm()
	expand := truth(r.PostForm.Get("expand"))
	out := []map[string]any{}
	for _, path := range r.PostForm["paths"] {
		path = strings.Trim(path, "/")
		if f := p.rev.files[path]; f != nil {
			out = append(out, f.entry(path, expand))
		} else if len(p.rev.list(path+"/", false, false)) > 0 {
			out = append(out, directory(path))
		}
	}
	answer(w, out)
}

func (h *Hub) resolve(w http.ResponseWriter, r *http.Request, p place) {
	f := p.rev.files[r.PathValue("path")]
	w.Header().Set("X-Repo-Commit", p.rev.oid)
	if f == nil {
		fail(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
		return
	}
	if !f.lfs {
		w.Header().Set("ETag", `"`+blob(f.data)+`"`)
		serveBytes(w, r, f.data)
		return
	}
	w.Header().Set("X-Linked-Etag", `"`+sum256(f.data)+`"`)
	w.Header().Set("X-Linked-Size", strconv.Itoa(len(f.data)))
	w.Header().Set("ETag", `"`+sum256(f.data)+`"`)
	http.Redirect(w, r, h.storage(r)+sum256(f.data), http.StatusFound)
}

func (h *Hub) get(w http.ResponseWriter, r *http.Request) {
	data, ok := h.objects[r.PathValue("oid")]
	if !ok {
		fail(w, http.StatusNotFound, "", "no such object")
		return
	}
	w.Header().Set("ETag", `"`+r.PathValue("oid")+`"`)
	serveBytes(w, r, data)
}

func readAll(r *http.Request) []byte {
	data, _ := io.ReadAll(r.Body)
	return data
}
