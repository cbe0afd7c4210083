package harbor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// RelayCommand is the first argument with which this program is a relay.
const RelayCommand = "relay-in-container"

const (
	socketName = "recorder.sock"
	socketPath = "/run/rollmill/" + socketName
)

// recorderHost stands for the relay's address in variables.
const recorderHost = "http://recorder.rollmill.invalid"

// Relay is the program in the container: it listens on the container's own loopback
// address, passes requests on to a Unix socket, and runs a program that finds the
// address in its environment. So an agent reaches its recorder in a container without
// a network. It returns the program's exit code.
func Relay(args []string) int {
	code, err := relay(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollmill relay:", err)
	}
	return code
}

func relay(args []string) (int, error) {
	if len(args) < 2 {
		return 2, errors.New("it needs a socket and a program")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", args[0])
	}
	go http.Serve(l, &httputil.ReverseProxy{FlushInterval: -1,
		Transport: &http.Transport{DialContext: dial, DisableCompression: true},
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "recorder" }})
	program := exec.Command(args[1], args[2:]...)
	for _, variable := range os.Environ() {
		program.Env = append(program.Env, strings.Replace(variable, recorderHost, "http://"+l.Addr().String(), 1))
	}
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = program.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 137, err
	case err != nil:
		return 127, err
	}
	return 0, nil
}

// newBridge serves the recorder to one container, at a Unix socket: whatever is asked
// there is asked at the attempt's own address, so that no path leads to another
// attempt's.
//
// It listens in a folder. Each user of the container may connect.
func newBridge(folder string, at agents.Attempt) (*http.Server, error) {
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
	b := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	go b.Serve(l)
	return b, os.Chmod(file, 0o666)
}

// environ returns the variables of an attempt for a program behind the relay, which puts
// its own address in the place of recorderHost. No proxy that the runtime passes on is
// between them.
func (b *box) environ(at agents.Attempt) []string {
	at.BaseURL = recorderHost + "/v1"
	direct := "127.0.0.1"
	if others, ok := b.agent.lookup("no_proxy"); ok {
		direct += "," + others
	}
	return append(at.Environ(), "no_proxy="+direct, "NO_PROXY="+direct)
}
