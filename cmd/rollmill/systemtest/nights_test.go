package systemtest

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// TestTwoNightsAtOnce runs a night while another process is at work on it, which the store holds up at the log.
func TestTwoNightsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a heartbeat of 5 s")
	}
	s := s3test.Start(t)
	b, err := storage.Open(t.Context(), s.URI(""))
	if err != nil {
		t.Fatal(err)
	}
	const call = `{"id":"c1","started_at":1000,"finished_at":1001,"request":{"model":"m","messages":[{"role":"user","content":"one"}]},` +
		`"response":{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"first"}}]}}`
	if err := b.Write(t.Context(), "logs/a.jsonl", []byte(call+"\n")); err != nil {
		t.Fatal(err)
	}
	night := func() (int, string) {
		out, err := exec.CommandContext(t.Context(), "rollmill", "import", "--new", "--flush", "--from", "calls", "--merge", "calls",
			"--in", s.URI("logs"), "--root", s.URI("run")).CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode(), string(out)
		}
		return 0, fmt.Sprint(string(out), err)
	}
	reads, other := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.OnRequest(func(r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/a.jsonl") {
			once.Do(func() { close(reads) })
			<-other
		}
	})
	first := make(chan string, 1)
	go func() {
		code, out := night()
		first <- fmt.Sprint(code, out)
	}()
	select {
	case <-reads:
	case out := <-first:
		t.Fatalf("it did not read: %s", out)
	}
	if code, out := night(); code != 75 || !strings.Contains(out, "another --new of this run is at work: process") {
		t.Errorf("the second: exit %d, %s", code, out)
	}
	close(other)
	if out := <-first; !strings.HasPrefix(out, "0") || !strings.Contains(out, "epoch-0/rollout") {
		t.Errorf("the first: %s", out)
	}
	if code, out := night(); code != 0 || !strings.Contains(out, "nothing new to import") {
		t.Errorf("the next: exit %d, %s", code, out)
	}
}
