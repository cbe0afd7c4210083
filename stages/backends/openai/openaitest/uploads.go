package openaitest

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

type partial struct {
	Filename string
	Bytes    int64
	parts    map[string][]byte
	status   string
}

// Uploads says how an upload in parts stands, and of how many parts it has
// heard; "" when there was none.
func (s *Server) Uploads() (status string, parts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil {
		return "", 0
	}
	return s.parts.status, len(s.parts.parts)
}

func (s *Server) postUpload(w http.ResponseWriter, r *http.Request) {
	u := struct {
		Filename, Purpose string
		MimeType          string `json:"mime_type"`
		Bytes             int64
	}{}
	if json.NewDecoder(r.Body).Decode(&u) != nil || u.Purpose != "fine-tune" || u.MimeType != "text/jsonl" ||
		!strings.HasSuffix(u.Filename, ".jsonl") || u.Bytes <= 0 || u.Bytes > 8e9 {
		fail(w, http.StatusBadRequest, "the upload is wrong", "purpose")
		return
	}
	s.parts = &partial{Filename: u.Filename, Bytes: u.Bytes, parts: map[string][]byte{}, status: "pending"}
	s.answer(w, map[string]any{"id": "upload_1", "object": "upload", "status": "pending"})
}

func (s *Server) postPart(w http.ResponseWriter, r *http.Request) {
	if s.faults.PartsRefused != 0 {
		fail(w, s.faults.PartsRefused, "no parts today", "")
		return
	}
	file, head, err := r.FormFile("data")
	if err != nil || s.parts == nil || s.parts.status != "pending" || head.Size > 64e6 {
		fail(w, http.StatusBadRequest, "the part is wrong", "data")
		return
	}
	data, _ := io.ReadAll(file)
	id := fmt.Sprint("part_", len(s.parts.parts)+1)
	s.parts.parts[id] = data
	if s.lost++; s.lost <= s.faults.PartsLost {
		panic(http.ErrAbortHandler)
	}
	s.answer(w, map[string]any{"id": id, "object": "upload.part"})
}

func (s *Server) completeUpload(w http.ResponseWriter, r *http.Request) {
	var c struct {
		Parts []string `json:"part_ids"`
		MD5   string
	}
	_ = json.NewDecoder(r.Body).Decode(&c)
	var data []byte
	for _, id := range c.Parts {
		data = append(data, s.parts.parts[id]...)
	}
	sum := md5.Sum(data)
	if int64(len(data)) != s.parts.Bytes || c.MD5 != "" && c.MD5 != hex.EncodeToString(sum[:]) {
		fail(w, http.StatusBadRequest, fmt.Sprintf("%d bytes came, %d were declared", len(data), s.parts.Bytes), "bytes")
		return
	}
	if wrong := checkLines(data); wrong != "" {
		fail(w, http.StatusBadRequest, wrong, "file")
		return
	}
	s.parts.status = "completed"
	f := &upload{id: fmt.Sprint("file-", len(s.files)+1), name: s.parts.Filename, data: data}
	s.files = append(s.files, f)
	s.answer(w, map[string]any{"id": "upload_1", "object": "upload", "status": "completed", "file": s.shown(f)})
}

func (s *Server) cancelUpload(w http.ResponseWriter, _ *http.Request) {
	s.parts.status = "cancelled"
	s.answer(w, map[string]any{"id": "upload_1", "object": "upload", "status": "cancelled"})
}
