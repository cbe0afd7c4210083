package hubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

const lfsType = "application/vnd.git-lfs+json"

func (h *Hub) batch(w http.ResponseWriter, r *http.Request, _ place) {
	var body struct {
		Operation string   `json:"operation"`
		Transfers []string `json:"transfers"`
		HashAlgo  string   `json:"hash_algo"`
		Objects   []struct {
			OID  string `json:"oid"`
			Size int64  `json:"size"`
		} `json:"objects"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	if err != nil || body.Operation != "upload" || body.HashAlgo != "sha256" || len(body.Objects) > atOnce ||
		r.Header.Get("Accept") != lfsType || !strings.HasPrefix(r.Header.Get("Content-Type"), lfsType) {
		fail(w, http.StatusBadRequest, "", fmt.Sprintf("bad batch: %+v %v", body, err))
		return
	}
	store := h.storage(r)
	verify := h.base(r) + "/api/verify"
	if h.faults.PublicURLs {
		store, verify = "https://huggingface.co"+h.Prefix+"/_store/", "https://huggingface.co"+h.Prefix+"/api/verify"
	}
	out := []any{}
	for _, o := range body.Objects {
		one := map[string]any{"oid": o.OID, "size": o.Size}
		if h.faults.BatchError != "" {
			one["error"] = map[string]any{"code": 422, "message": h.faults.BatchError}
		} else if _, ok := h.objects[o.OID]; !ok {
			upload := map[string]any{"href": store + o.OID}
			if size := h.faults.ChunkSize; size > 0 && o.Size > size {
				header := map[string]string{"chunk_size": strconv.FormatInt(size, 10)}
				for n := int64(1); (n-1)*size < o.Size; n++ {
					header[fmt.Sprintf("%05d", n)] = fmt.Sprintf("%s%s/%d", store, o.OID, n)
				}
				upload = map[string]any{"href": store + o.OID + "/parts", "header": header}
			}
			one["actions"] = map[string]any{"upload": upload, "verify": map[string]any{"href": verify}}
		}
		out = append(out, one)
	}
	w.Header().Set("Content-Type", lfsType)
	json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": out})
}

func (h *Hub) verify(w http.ResponseWriter, r *http.Request) {
	var body struct {
		OID  string `json:"oid"`
		Size int    `json:"size"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	if data, ok := h.objects[body.OID]; !ok || len(data) != body.Size || h.faults.VerifyRefused {
		fail(w, http.StatusNotFound, "", "the object was not uploaded")
		return
	}
	answer(w, map[string]any{})
}
