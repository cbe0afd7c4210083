package hubtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

func serveBytes(w http.ResponseWriter, r *http.Request, data []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

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

// put is what storage does: it knows no tokens, and takes a request with one
// for a mistake.
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

func (h *Hub) commit(w http.ResponseWriter, r *http.Request, p place) {
	if h.faults.CommitRefused != 0 {
		fail(w, h.faults.CommitRefused, "", "no commits today")
		return
	}
	if h.faults.DropBeforeCommit > 0 {
		h.faults.DropBeforeCommit--
		panic(http.ErrAbortHandler)
	}
	if h.faults.Intruders > 0 {
		h.faults.Intruders--
		p.add("by somebody else", func(files map[string]*file) {
			files["theirs.txt"] = &file{data: []byte(strconv.Itoa(h.faults.Intruders))}
		})
	}
	c := change{hub: h, files: maps.Clone(p.head().files)}
	if wrong := c.read(readAll(r), p.head().oid); wrong != "" {
		code := http.StatusBadRequest
		if c.stale {
			code = http.StatusPreconditionFailed
		}
		fail(w, code, "", wrong)
		return
	}
	made := p.add(c.summary, func(files map[string]*file) {
		clear(files)
		maps.Copy(files, c.files)
	})
	if h.faults.Committed != nil {
		h.faults.Committed()
	}
	switch {
	case h.faults.AppliedThen500 > 0:
		h.faults.AppliedThen500--
		fail(w, http.StatusInternalServerError, "", "Internal Error")
		return
	case h.faults.DropAfterCommit > 0:
		h.faults.DropAfterCommit--
		panic(http.ErrAbortHandler)
	}
	out := map[string]any{"success": true, "commitUrl": h.base(r) + "/datasets/" + p.id + "/commit/" + made.oid,
		"commitOid": made.oid}
	if h.faults.EmptyCommitURL {
		out["commitUrl"] = ""
	}
	if h.faults.NoCommitOID {
		delete(out, "commitOid")
	}
	answer(w, out)
}

// change is a commit's body as it is read.
type change struct {
	hub     *Hub
	files   map[string]*file
	summary string
	stale   bool
}

func (c *change) read(body []byte, head string) (wrong string) {
	text, ended := strings.CutSuffix(string(body), "\n")
	if !ended {
		return "the last line does not end"
	}
	for n, line := range strings.Split(text, "\n") {
		var l struct {
			Key   string
			Value struct {
				Summary, ParentCommit, Content, Path, Encoding, Algo, OID string
				Size                                                      int
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return fmt.Sprintf("line %d: %v", n+1, err)
		}
		if (n == 0) != (l.Key == "header") {
			return fmt.Sprintf("line %d is of key %q: the header comes first, and once", n+1, l.Key)
		}
		switch v := l.Value; l.Key {
		case "header":
			if v.Summary == "" {
				return "the summary is empty"
			}
			if v.ParentCommit != "" && v.ParentCommit != head {
				c.stale = true
				return "A commit has happened since. Please refresh and try again."
			}
			c.summary = v.Summary
		case "file":
			data, err := base64.StdEncoding.DecodeString(v.Content)
			if err != nil || v.Encoding != "base64" {
				return fmt.Sprintf("%q: %v", v.Path, err)
			}
			if c.hub.mode(v.Path) == "lfs" && len(data) > 0 {
				return fmt.Sprintf("%q belongs into LFS", v.Path)
			}
			c.files[v.Path] = &file{data: data}
		case "lfsFile":
			data, ok := c.hub.objects[v.OID]
			if !ok || len(data) != v.Size || v.Algo != "sha256" {
				return fmt.Sprintf("%q points at an object that was not uploaded", v.Path)
			}
			c.files[v.Path] = &file{data: data, lfs: true}
		case "deletedFile":
			if c.files[v.Path] == nil {
				return fmt.Sprintf("%q is not there to be deleted", v.Path)
			}
			delete(c.files, v.Path)
		case "deletedFolder":
			maps.DeleteFunc(c.files, func(p string, _ *file) bool {
				return strings.HasPrefix(p, strings.TrimSuffix(v.Path, "/")+"/")
			})
		default:
			return fmt.Sprintf("line %d: unknown key %q", n+1, l.Key)
		}
	}
	return ""
}
