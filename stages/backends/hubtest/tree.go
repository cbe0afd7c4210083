package hubtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

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
