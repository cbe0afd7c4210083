package verifier

import (
	"archive/tar"
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/workspace"
	"github.com/rollmill/rollmill/stages/internal/containers"
)

const (
	testImage = "localhost/rollmill-test:base"
	testFiles = "../../../../testdata/harbor/"
)

// TestMain is the program in a container, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workspace.Command {
		os.Exit(workspace.Main(os.Args[2:]))
	}
	conf, _ := filepath.Abs(testFiles + "containers.conf")
	os.Setenv("CONTAINERS_CONF", conf)
	os.Exit(m.Run())
}

var long = flag.Bool("long", false, "run the tests that start many containers")

// TestRestore starts two containers without -long.
func TestRestore(t *testing.T) {
	if out, err := exec.Command("podman", "image", "inspect", testImage).CombinedOutput(); err != nil {
		t.Skipf(".ci/install containers brings podman, and .ci/base-image makes the tests' image: %v %s", err, out)
	}
	restored(t, "podman", testImage)
}

func TestBwrapRestore(t *testing.T) {
	if out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("no bubblewrap: %v %s", err, out)
	}
	restored(t, "bwrap", "")
}

// restored: tests find what the archive has; one that is not what it says, or that leaves its
// folder, is refused, and what is next to the container stays as it is.
func restored(t *testing.T, runtime, image string) {
	task, err := harbor.Read(testFiles + "tasks/write-file")
	if err != nil {
		t.Fatal(err)
	}
	m, err := containers.Open(t.Context(), runtime)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	relay, err := containers.RelayBinary("")
	if err != nil {
		t.Fatal(err)
	}
	tasks := &Tasks{Machine: m, Relay: relay}
	whole := packed(t, "app/hello.txt", "hello\n")
	for name, c := range map[string]struct {
		archive     []byte
		size, paths int64
		left        []string
		reward      float64
		says        string
	}{
		"whole":       {archive: whole, paths: 1, reward: 1},
		"other":       {archive: packed(t, "app/hello.txt", "bye\n"), paths: 1},
		"left":        {archive: packed(t, "app/hello.txt", "bye\n"), paths: 1, left: []string{"sleep"}, says: "left processes running (sleep)"},
		"left, whole": {archive: whole, paths: 1, left: []string{"sleep"}, reward: 1},
		"size":        {archive: whole, size: 100, paths: 1, says: "100 bytes"},
		"paths":       {archive: whole, paths: 2, says: "1 of the 2 paths"},
		"up":          {archive: packed(t, "../hello.txt", "x"), paths: 1, says: "leads out"},
		"absolute":    {archive: packed(t, "/app/hello.txt", "x"), paths: 1, says: "leads out"},
		"no archive":  {archive: []byte("none"), paths: 1, says: "exit code 1"},
	} {
		if runtime == "podman" && !*long && name != "whole" && name != "left" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if c.size == 0 {
				c.size = int64(len(c.archive))
			}
			b, err := tasks.Start(t.Context(), task, image, "t", io.Discard)
			defer b.Remove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			v := Verdict{}
			if err = b.Restore(t.Context(), bytes.NewReader(c.archive), c.size, c.paths); err == nil {
				v, err = b.Judge(t.Context(), c.left)
			}
			switch {
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, which does not say %q", err, c.says)
			case c.says == "" && (err != nil || v.Reward == nil || *v.Reward != c.reward):
				t.Errorf("%v: %+v", err, v)
			}
			if files, _ := filepath.Glob(b.Dir + "/run/*.tar"); files != nil {
				t.Errorf("the tests found %v", files)
			}
		})
	}
}

// packed returns an archive of one file.
func packed(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatPAX})
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
