// Package customizertest is a test server of the NeMo Microservices 25.x: Entity Store,
// Customizer, deployments and NIM behind one address, the Data Store behind another. It refuses
// what the service refuses, and misbehaves when told to.
package customizertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

// New starts a server.
func New(f Faults) *Server {
	if f.Statuses == nil {
		f.Statuses = []string{"created", "pending", "running", "completed"}
	}
	if f.DeploymentStates == nil {
		f.DeploymentStates = []string{"pending", "ready"}
	}
	f.PageSize = cmp.Or(f.PageSize, 10)
	f.Store.OldKeys, f.Store.OpenToAll = true, true
	if f.Store.Modes == nil {
		f.Store.Modes = map[string]string{".jsonl": "lfs"}
	}
	s := &Server{faults: f, Hub: hubtest.New("/v1/hf", f.Store), entity: map[string]bool{}, datastore: map[string]bool{},
		datasets: map[string]map[string]any{}, configs: map[string]map[string]any{}, deployments: map[string]*deployment{}}
	for n := range f.OtherJobs {
		s.jobs = append(s.jobs, &Job{ID: fmt.Sprint("cust-other-", n),
			Body: map[string]json.RawMessage{"name": []byte(`"theirs"`), "custom_fields": []byte(`null`)}})
	}
	for n := range f.OtherDeployments {
		s.deployments[fmt.Sprint("acme/a-", n)] = &deployment{}
	}
	s.Server = httptest.NewServer(s.gate(s.routes()))
	data := http.NewServeMux()
	data.Handle("/v1/hf/", s.Hub)
	data.HandleFunc("POST /v1/datastore/namespaces", s.makeStoreNamespace)
	data.HandleFunc("GET /v1/datastore/namespaces/{ns}", s.storeNamespace)
	s.Datastore = httptest.NewServer(data)
	return s
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]http.HandlerFunc{
		"POST /v1/namespaces":                              s.makeNamespace,
		"GET /v1/namespaces/{ns}":                          s.namespace,
		"POST /v1/datasets":                                s.makeDataset,
		"GET /v1/datasets/{ns}/{name}":                     s.dataset,
		"PATCH /v1/datasets/{ns}/{name}":                   s.patchDataset,
		"GET /v1/customization/configs":                    s.listConfigs,
		"POST /v1/customization/jobs":                      s.makeJob,
		"GET /v1/customization/jobs":                       s.listJobs,
		"GET /v1/customization/jobs/{id}":                  s.getJob,
		"GET /v1/customization/jobs/{id}/status":           s.jobStatus,
		"POST /v1/customization/jobs/{id}/cancel":          s.cancel,
		"POST /v1/deployment/configs":                      s.makeDeploymentConfig,
		"GET /v1/deployment/configs/{ns}/{name}":           s.deploymentConfig,
		"POST /v1/deployment/model-deployments":            s.makeDeployment,
		"GET /v1/deployment/model-deployments":             s.listDeployments,
		"GET /v1/deployment/model-deployments/{ns}/{name}": s.deployment,
		"GET /v1/models":                                   s.models,
	} {
		mux.HandleFunc(pattern, serve)
	}
	return mux
}
