package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
)

// site is a viewer that listens, and a browser that opened its link.
type site struct {
	t      *testing.T
	server *Server
	link   string
	base   string // http://host:port
	client *http.Client
}

// serve starts the viewer of a root.
func serve(t *testing.T, root string) *site {
	t.Helper()
	server, err := New(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, server, server.Link(l), "http://" + l.Addr().String(), &http.Client{Jar: jar}}
	if code, page := s.get(strings.TrimPrefix(s.link, s.base)); code != http.StatusOK {
		t.Fatalf("the link gives %d:\n%s", code, page)
	}
	return s
}

// get returns the status and the body of a path.
func (s *site) get(path string) (int, string) {
	s.t.Helper()
	answer, err := s.client.Get(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, body(s.t, answer)
}

// page returns a page that must be there.
func (s *site) page(path string) string {
	s.t.Helper()
	code, page := s.get(path)
	if code != http.StatusOK {
		s.t.Fatalf("%s: %d\n%s", path, code, page)
	}
	return page
}

func body(t *testing.T, answer *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return string(data)
}

// raw sends bytes as they are, and returns the status and the headers.
func (s *site) raw(request string) *http.Response {
	s.t.Helper()
	address := strings.TrimPrefix(s.base, "http://")
	c, err := net.Dial("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// cookie returns the header of the browser that has the token.
func (s *site) cookie() string {
	u, err := url.Parse(s.base)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range s.client.Jar.Cookies(u) {
		return c.Name + "=" + c.Value
	}
	s.t.Fatal("the browser has no cookie")
	return ""
}

// writeRollout writes a rollout of so many examples with two attempts each.
func writeRollout(t *testing.T, uri string, examples int) {
	t.Helper()
	var rows []formats.Trajectory
	for e := range examples {
		for g := range 2 {
			example := fmt.Sprintf("example-%d", e)
			rows = append(rows, formats.Trajectory{TrajectoryID: formats.TrajectoryID("run", example, 0, g), ExampleID: example, Generation: int32(g),
				Status: outcomes.StatusOK, StopReason: outcomes.StopDone, Messages: []formats.Message{{Parent: -1, Role: "user", Content: "play", Call: -1}}})
		}
	}
	w, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Params: map[string]any{"run": "<b>run</b>"}},
		shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := shards.NewTable[formats.Trajectory](w, "", -1).Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(),
		shards.Outcome{Counts: map[string]int64{outcomes.StatusOK: int64(len(rows))}, Facts: map[string]float64{"calls": 7}}); err != nil {
		t.Fatal(err)
	}
}
