// Package systemtest has the tests that run the program as its users do: scripts,
// guides, agents, browsers, and processes that are killed. They run rollmill, which
// TestMain builds, from the PATH. Tests of the functions of package main are there.
package systemtest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/sandbox"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(built{m}, map[string]func(){
		"longanswers": serveLongAnswers, "twoturns": twoTurns, "recite": recite, "alone": alone,
	})
}

// programs is the folder of what the tests build.
var programs string

// built runs the tests with the program on the PATH.
type built struct{ tests *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "rollmill-built-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	programs = dir
	// The tests wait more than they compute; the command line still decides.
	if err := flag.Set("test.parallel", "4"); err != nil {
		return failed(err)
	}
	// No log of what was read, no cached result: the go command does not know that
	// these tests depend on the program, which they do not import.
	flag.Parse()
	if err := flag.Set("test.testlogfile", ""); err != nil {
		return failed(err)
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir, "github.com/rollmill/rollmill/cmd/rollmill")
	if out, err := build.CombinedOutput(); err != nil {
		return failed(fmt.Errorf("%w: %s", err, out))
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return b.tests.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "the tests cannot run:", err)
	return 1
}

// rollmill runs a command.
func rollmill(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "rollmill", args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.TrimSpace(out.String()), log.String()
}

// newEngine starts a sandbox with the models, each PROJECT/NAME, and writes the
// examples of two tasks.
func newEngine(t *testing.T, models ...string) (url, examples string) {
	t.Helper()
	server, err := sandbox.New(sandbox.Options{Models: models})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(func() { _ = server.Close(); web.Close() })
	examples = filepath.Join(t.TempDir(), "tasks.jsonl")
	lines := `{"id":"a","question":"Your move."}` + "\n" + `{"id":"b","question":"Move."}` + "\n"
	if err := os.WriteFile(examples, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	return web.URL, examples
}

// trajectoriesAt returns a dataset of trajectories and its rows.
func trajectoriesAt(t *testing.T, uri string) (*dataset.Dataset, []formats.Trajectory) {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{Kind: schema.KindTrajectories})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return d, rows
}
