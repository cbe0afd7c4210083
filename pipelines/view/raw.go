package view

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/rollmill/rollmill/pipelines/look/model"
)

// rawPage writes the row as JSON, with every column.
func (s *Server) rawPage(w http.ResponseWriter, r *http.Request) error {
	_, x, err := s.indexed(r)
	if err != nil {
		return err
	}
	id := segment(r, "id")
	row, ok := x.Find(id)
	if !ok {
		return missing("no trajectory %q", id)
	}
	values, err := model.RawRow(r.Context(), x.From.Rows, int64(row))
	if err != nil {
		return err
	}
	data, err := values.MarshalJSON()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", " "); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, err = w.Write(out.Bytes())
	return err
}
