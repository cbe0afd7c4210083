package recorder

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Client returns a client for agents in this process. It reaches the sessions' addresses, and nothing else, without a
// connection: with thousands of open trajectories, connections to itself would take most of the process's memory and of
// its open files. An answer arrives when it is complete, also a stream.
func (r *Recorder) Client() *http.Client { return r.direct }

// direct calls the handler where a transport would send the request.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(req *http.Request) (_ *http.Response, err error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			err = io.ErrUnexpectedEOF
		} else if p != nil {
			err = fmt.Errorf("the recording proxy panicked: %v", p)
		}
	}()
	a := &directAnswer{header: http.Header{}}
	d.handler.ServeHTTP(a, received(req))
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return a.response(req), nil
}

// received is the request as a server gets it.
func received(sent *http.Request) *http.Request {
	req := sent.WithContext(sent.Context())
	req.Header = sent.Header.Clone()
	req.RequestURI, req.Host = sent.URL.RequestURI(), sent.URL.Host
	if req.Body == nil {
		req.Body = http.NoBody
	}
	return req
}

// directAnswer keeps the answer until the handler returns.
type directAnswer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *directAnswer) Header() http.Header { return a.header }

func (a *directAnswer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status, a.header = status, a.header.Clone()
	}
}

func (a *directAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush lets handlers flush; nothing is sent before they return.
func (a *directAnswer) Flush() { a.WriteHeader(http.StatusOK) }

func (a *directAnswer) response(req *http.Request) *http.Response {
	a.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: a.status, Status: strings.TrimSpace(fmt.Sprint(a.status, " ", http.StatusText(a.status))),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: req,
	}
}
