package harbor

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// bridge serves the recorder to one container, at a Unix socket: whatever is asked
// there is asked at the attempt's own address, so that no path leads to another
// attempt's.
type bridge struct {
	server *http.Server
}

const socketName = "recorder.sock"

// newBridge listens in a folder. Each user of the container may connect.
func newBridge(folder string, at agents.Attempt) (*bridge, error) {
	base, err := url.Parse(strings.TrimSuffix(at.BaseURL, "/v1"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, socketName)
	l, err := net.Listen("unix", file)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Path, r.Out.URL.RawPath = path.Clean("/"+r.In.URL.Path), ""
		r.SetURL(base)
	}}
	if at.HTTP != nil {
		proxy.Transport = at.HTTP.Transport
	}
	b := &bridge{&http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}}
	go b.server.Serve(l)
	return b, os.Chmod(file, 0o666)
}

func (b *bridge) close() { b.server.Close() }

// environ returns the variables of an attempt for a program behind the relay, which puts
// its own address in the place of recorderHost. No proxy that the runtime passes on is
// between them.
func (b *box) environ(at agents.Attempt) []string {
	at.BaseURL = recorderHost + "/v1"
	direct := "127.0.0.1"
	if others, ok := b.lookup("no_proxy"); ok {
		direct += "," + others
	}
	return append(at.Environ(), "no_proxy="+direct, "NO_PROXY="+direct)
}
