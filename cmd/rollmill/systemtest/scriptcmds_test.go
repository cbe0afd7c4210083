package systemtest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/pipelines/sandbox/sandboxtest"
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

// follow makes a fault, reads its hint, and does what the hint says, which succeeds and has
// one of the flags or the command that the hint names, or leaves out the flag that it says to:
//
//	follow 2 'name a column with --sort' rollmill show score --desc => rollmill show score --sort reward
func follow(ts *testscript.TestScript, neg bool, args []string) {
	then := slices.Index(args, "=>")
	if neg || then < 3 {
		ts.Fatalf("usage: follow CODE HINT PROGRAM [ARG...] => PROGRAM [ARG...]")
	}
	hint, next := args[1], strings.Join(args[then+1:], " ")
	exits(ts, false, append(args[:1:1], args[2:then]...))
	said := ts.ReadFile("stderr")
	said = said[strings.LastIndex(said, "\nhint: ")+1:]
	if !strings.HasPrefix(said, "hint: ") { // the advice on a finding of import --check
		said = strings.Join(strings.Fields(ts.ReadFile("stdout")), " ")
		said = said[strings.Index(said, " help: ")+1:]
	}
	if !strings.Contains(said, hint) {
		ts.Fatalf("no hint %q in %s", hint, said)
	}
	does := func(name string) bool {
		return strings.Contains(next+" ", name+" ") || strings.Contains(next, name+"=")
	}
	names := regexp.MustCompile("--[a-z][a-z-]*|rollmill( [a-z]+)+|(?:rollout|score)[.][a-z-]+").FindAllString(hint, -1)
	if leave := strings.Contains(hint, "leave "); slices.ContainsFunc(names, does) == leave {
		ts.Fatalf("%q does not do what the hint says: %q", next, hint)
	}
	ts.Check(ts.Exec(args[then+1], args[then+2:]...))
}

// serveSandbox starts a sandbox for the script and sets $SANDBOX to its URL:
//
//	sandbox [PROJECT/NAME...]
func serveSandbox(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! sandbox")
	}
	server, err := sandboxtest.New(sandbox.Options{Models: args})
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
	resp, err := http.Post(ts.Getenv("SANDBOX")+"/_rollmill/faults", "application/json", strings.NewReader(args[0]))
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
