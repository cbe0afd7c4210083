package openaitest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// File is the content of a file, by the part of its name after the token.
func (s *Server) File(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if strings.HasSuffix(f.name, "-"+kind+".jsonl") {
			return string(f.data)
		}
	}
	return ""
}

func (s *Server) postFile(w http.ResponseWriter, r *http.Request) {
	if s.faults.FilesRefused != 0 {
		fail(w, s.faults.FilesRefused, "no files today", "")
		return
	}
	if r.ContentLength < 0 {
		fail(w, http.StatusLengthRequired, "Content-Length is missing", "")
		return
	}
	if err := r.ParseMultipartForm(32 << 20); err != nil {
		fail(w, http.StatusBadRequest, err.Error(), "file")
		return
	}
	file, head, err := r.FormFile("file")
	if err != nil || r.FormValue("purpose") != "fine-tune" || !strings.HasSuffix(head.Filename, ".jsonl") {
		fail(w, http.StatusBadRequest, "the purpose or the file's name is wrong", "purpose")
		return
	}
	data, _ := io.ReadAll(file)
	if wrong := checkLines(data); wrong != "" {
		fail(w, http.StatusBadRequest, wrong, "file")
		return
	}
	f := &upload{id: fmt.Sprint("file-", len(s.files)+1), name: head.Filename, data: data}
	s.files = append(s.files, f)
	s.answer(w, s.shown(f))
}

func (s *Server) shown(f *upload) map[string]any {
	status := s.faults.FileStatuses[min(f.asked, len(s.faults.FileStatuses)-1)]
	f.asked++
	return map[string]any{"id": f.id, "object": "file", "bytes": nil, "filename": f.name, "purpose": "fine-tune",
		"status": status, "status_details": "line 3 is bad", "news": 1}
}

func (s *Server) getFile(w http.ResponseWriter, r *http.Request) {
	for _, f := range s.files {
		if f.id == r.PathValue("id") {
			s.answer(w, s.shown(f))
			return
		}
	}
	fail(w, http.StatusNotFound, "no such file", "")
}

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request) {
	var all []map[string]any
	for _, f := range s.files {
		all = append(all, map[string]any{"id": f.id, "filename": f.name})
	}
	s.page(w, r, all)
}
