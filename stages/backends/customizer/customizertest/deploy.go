package customizertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
)

var legal = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (s *Server) makeDeploymentConfig(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	name, _ := body["name"].(string)
	key := fmt.Sprint(body["namespace"], "/", name)
	nim, _ := body["nim_deployment"].(map[string]any)
	switch {
	case !legal.MatchString(name) || nim["image_name"] == nil || nim["image_tag"] == nil || nim["gpu"] == nil:
		invalid(w, "name", "bad configuration")
	case s.configs[key] != nil:
		fail(w, http.StatusConflict, "config exists")
	default:
		s.configs[key] = body
		answer(w, body)
	}
}

func (s *Server) deploymentConfig(w http.ResponseWriter, r *http.Request) {
	if s.configs[id(r)] == nil {
		fail(w, http.StatusNotFound, "no such config")
		return
	}
	answer(w, s.configs[id(r)])
}

func (s *Server) makeDeployment(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	key := fmt.Sprint(body["namespace"], "/", body["name"])
	config, _ := body["config"].(string)
	switch {
	case s.configs[config] == nil:
		invalid(w, "config", "no such config")
	case s.deployments[key] != nil:
		fail(w, http.StatusInternalServerError, "model deployment already exists")
	default:
		s.deployments[key] = &deployment{body: body}
		if s.faults.DeploymentExists500 {
			fail(w, http.StatusInternalServerError, "Error: model deployment already exists")
			return
		}
		answer(w, s.deployments[key].show("created"))
	}
}

func (s *Server) deployment(w http.ResponseWriter, r *http.Request) {
	d := s.deployments[id(r)]
	if d == nil {
		fail(w, http.StatusNotFound, "no such deployment")
		return
	}
	status := s.faults.DeploymentStates[min(d.asked, len(s.faults.DeploymentStates)-1)]
	d.asked++
	answer(w, d.show(status))
}

func (s *Server) listDeployments(w http.ResponseWriter, r *http.Request) {
	var all []map[string]any
	for _, d := range s.deployments {
		all = append(all, d.show("pending"))
	}
	page(s, w, r, all)
}
