package hubtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// put is what storage does: it knows no tokens, and takes a request with one for a mistake.
func (h *Hub) put(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		fail(w, http.StatusBadRequest, "", "Only one auth mechanism allowed")
		return
	}
	if h.puts++; h.puts <= h.faults.PutFails {
		fail(w, http.StatusServiceUnavailable, "", "SlowDown")
		return
	}
	oid, data := r.PathValue("oid"), readAll(r)
	if r.ContentLength < 0 || int64(len(data)) != r.ContentLength {
		fail(w, http.StatusLengthRequired, "", "MissingContentLength")
		return
	}
	part, err := strconv.Atoi(r.PathValue("part"))
	if err != nil {
		if sum256(data) != oid {
			fail(w, http.StatusBadRequest, "", "BadDigest")
			return
		}
		h.objects[oid] = data
	} else {
		if h.parts[oid] == nil {
			h.parts[oid] = map[int][]byte{}
		}
		h.parts[oid][part] = data
	}
	if !h.faults.NoETag {
		w.Header().Set("ETag", `"`+blob(data)+`"`)
	}
}

func (h *Hub) complete(w http.ResponseWriter, r *http.Request) {
	var body struct {
		OID   string `json:"oid"`
		Parts []struct {
			Number int    `json:"partNumber"`
			ETag   string `json:"etag"`
		} `json:"parts"`
	}
	if err := json.NewDecoder(r.Body).
		Decode(&body); err != nil || body.OID != r.PathValue("oid") || r.Header.Get("Authorization") != "" {
		fail(w, http.StatusBadRequest, "", fmt.Sprintf("bad completion: %+v %v", body, err))
		return
	}
	var whole []byte
	for n, part := range body.Parts {
		data := h.parts[body.OID][part.Number]
		if part.Number != n+1 || part.ETag != `"`+blob(data)+`"` {
			fail(w, http.StatusBadRequest, "", "InvalidPart")
			return
		}
		whole = append(whole, data...)
	}
	if sum256(whole) != body.OID {
		fail(w, http.StatusBadRequest, "", "BadDigest")
		return
	}
	h.objects[body.OID] = whole
	answer(w, map[string]any{})
}

// storage is on another host, as the hub's is: who goes there leaves the hub.
func (h *Hub) storage(r *http.Request) string {
	return "http://" + strings.Replace(r.Host, "127.0.0.1", "localhost", 1) + h.Prefix + "/_store/"
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
