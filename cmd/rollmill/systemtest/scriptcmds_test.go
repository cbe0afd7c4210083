package systemtest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// exits runs a program like exec and checks its exit code:
//
//	exits 2 rollmill score
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// serveSandbox starts a sandbox for the script and sets $SANDBOX to its URL:
//
//	sandbox [PROJECT/NAME...]
func serveSandbox(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! sandbox")
	}
	server, err := sandbox.New(sandbox.Options{Models: args})
	ts.Check(err)
	web := httptest.NewServer(server)
	ts.Defer(func() {
		ts.Check(server.Close())
		web.Close()
	})
	ts.Setenv("SANDBOX", web.URL)
}

// setFaults makes the sandbox misbehave:
//
//	faults '{"chat":[{"kind":"no_logprobs","times":-1}]}'
func setFaults(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: faults JSON")
	}
	url := ts.Getenv("SANDBOX") + "/_rollmill/faults"
	cleared, err := http.NewRequest(http.MethodDelete, url, nil)
	ts.Check(err)
	resp, err := http.DefaultClient.Do(cleared)
	ts.Check(err)
	resp.Body.Close()
	resp, err = http.Post(url, "application/json", strings.NewReader(args[0]))
	ts.Check(err)
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		body, _ := io.ReadAll(resp.Body)
		ts.Fatalf("the sandbox refused the faults: %s: %s", resp.Status, body)
	}
}

// truncate removes the last byte of files:
//
//	truncate GLOB
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: truncate GLOB")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file is called %s", args[0])
	}
	for _, f := range files {
		info, err := os.Stat(f)
		ts.Check(err)
		ts.Check(os.Truncate(f, info.Size()-1))
	}
}
