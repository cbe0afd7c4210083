// Package hubtest is a test server of dataset repositories with the API of the Hugging Face hub:
// creation, trees, uploads by LFS in one piece or in parts, commits, downloads. It refuses what
// the hub refuses, and misbehaves on request. The hub's own Python client works with it.
package hubtest

import (
	"cmp"
	"net/http"
	"net/http/httptest"
)

// Token is the one that may write.
const Token = "hf_test_hush"

// Server is a Hub that listens.
type Server struct {
	*httptest.Server
	*Hub
}

// Serve starts a server.
func Serve(f Faults) *Server {
	h := New("", f)
	return &Server{httptest.NewServer(h), h}
}

// New makes a store that is mounted under a prefix.
func New(prefix string, f Faults) *Hub {
	f.PageSize = cmp.Or(f.PageSize, 1000)
	h := &Hub{Prefix: prefix, faults: f, mux: http.NewServeMux(), repos: map[string]*repository{},
		objects: map[string][]byte{}, parts: map[string]map[int][]byte{}, busy: map[string]int{}}
	const repo = "/api/datasets/{owner}/{name}"
	for pattern, serve := range map[string]http.HandlerFunc{
		"POST /api/repos/create":                               h.create,
		"GET /api/whoami-v2":                                   h.whoami,
		"POST /api/validate-yaml":                              h.card,
		"GET " + repo:                                          h.at(h.info),
		"GET " + repo + "/revision/{rev}":                      h.at(h.info),
		"GET " + repo + "/tree/{rev}":                          h.at(h.tree),
		"GET " + repo + "/tree/{rev}/{path...}":                h.at(h.tree),
		"POST " + repo + "/paths-info/{rev}":                   h.at(h.pathsInfo),
		"POST " + repo + "/preupload/{rev}":                    h.at(h.preupload),
		"POST " + repo + "/commit/{rev}":                       h.at(h.commit),
		"POST /datasets/{owner}/{git}/info/lfs/objects/batch":  h.at(h.batch),
		"GET /datasets/{owner}/{name}/resolve/{rev}/{path...}": h.at(h.resolve),
		"PUT /_store/{oid}":                                    h.put,
		"PUT /_store/{oid}/{part}":                             h.put,
		"GET /_store/{oid}":                                    h.get,
		"POST /_store/{oid}/parts":                             h.complete,
		"POST /api/verify":                                     h.verify,
	} {
		h.mux.HandleFunc(pattern, serve)
	}
	return h
}
