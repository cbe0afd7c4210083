package hubtest

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

func serveBytes(w http.ResponseWriter, r *http.Request, data []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
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
