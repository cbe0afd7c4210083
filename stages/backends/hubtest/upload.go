package hubtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
)

// atOnce is how many files a request may name.
const atOnce = 256

func (h *Hub) preupload(w http.ResponseWriter, r *http.Request, p place) {
	var body struct {
		Files []struct {
			Path   string `json:"path"`
			Sample string `json:"sample"`
			Size   *int64 `json:"size"`
		} `json:"files"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	if err != nil || len(body.Files) == 0 || len(body.Files) > atOnce {
		fail(w, http.StatusBadRequest, "", fmt.Sprintf("%d files: %v", len(body.Files), err))
		return
	}
	out := []map[string]any{}
	for _, f := range body.Files {
		sample, err := base64.StdEncoding.DecodeString(f.Sample)
		if f.Size == nil || err != nil || int64(len(sample)) != min(*f.Size, 512) {
			fail(w, http.StatusBadRequest, "", fmt.Sprintf("%q: a sample of %d bytes: %v", f.Path, len(sample), err))
			return
		}
		one := map[string]any{"path": f.Path, "uploadMode": h.mode(f.Path),
			"shouldIgnore": h.faults.Ignored != "" && path.Ext(f.Path) == h.faults.Ignored}
		if h.faults.NoIgnoreKey {
			delete(one, "shouldIgnore")
		}
		if old := p.rev.files[f.Path]; old != nil && !h.faults.NoOID {
			if one["oid"] = blob(old.data); old.lfs {
				one["oid"] = sum256(old.data)
			}
		}
		out = append([]map[string]any{one}, out...) // in another order than asked
	}
	answer(w, map[string]any{"files": out, "commitOid": p.rev.oid})
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
