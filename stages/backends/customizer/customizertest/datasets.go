package customizertest

import (
	"encoding/json"
	"net/http"
)

func (s *Server) makeDataset(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		invalid(w, "", err.Error())
		return
	}
	name, _ := body["name"].(string)
	ns, _ := body["namespace"].(string)
	url, _ := body["files_url"].(string)
	switch key := ns + "/" + name; {
	case name == "" || url == "":
		invalid(w, "files_url", "field required")
	case !s.entity[ns]:
		fail(w, http.StatusNotFound, "no such namespace")
	case s.faults.DatasetTaken && s.datasets[key] == nil:
		s.datasets[key] = map[string]any{"name": name, "namespace": ns, "files_url": "hf://datasets/others/data"}
		fallthrough
	case s.datasets[key] != nil:
		fail(w, http.StatusConflict, "dataset exists")
	default:
		body["id"] = "dataset-1"
		s.datasets[key] = body
		answer(w, body)
	}
}

func (s *Server) dataset(w http.ResponseWriter, r *http.Request) {
	d := s.datasets[id(r)]
	if d == nil {
		fail(w, http.StatusNotFound, "no such dataset")
		return
	}
	answer(w, d)
}

func (s *Server) patchDataset(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	d := s.datasets[id(r)]
	if d == nil {
		fail(w, http.StatusNotFound, "no such dataset")
		return
	}
	if !s.faults.DatasetStuck {
		d["files_url"] = body["files_url"]
	}
	answer(w, d)
}
