package main

import (
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// irregular lists the functions that may open files without package storage/regular, each
// with the reason: no data, setting or folder of others names what they open.
var irregular = map[string]string{
	"cmd/rollmill plotDiff":                       "a file that the user's flag says to write",
	"cmd/rollmill/settings copyTasks":             "in a folder of this process",
	"pipelines/starter create":                    "creates a file that does not exist",
	"stages/plugin readFile":                      "pipes too; it waits neither long nor past its context",
	"formats/dataset/lease started":               "the kernel's",
	"stages/internal/process killOnce":            "the kernel's",
	"stages/internal/process noEnviron":           "the kernel's",
	"stages/internal/process readWhole":           "the kernel's",
	"stages/internal/containers Walk":             "a folder that it made, and mounted",
	"stages/internal/containers Start":            "in a folder of this process",
	"stages/internal/containers/verifier mounts":  "in a folder of this process",
	"stages/internal/containers/verifier restore": "in a folder of this process",
	"stages/internal/containers/verifier list":    "in a folder of this process",
	"formats/workspace open":                      "in a container: never one that is not regular",
	"formats/workspace run":                       "in a container, in a folder of this machine",
	"formats/workspace readmounts":                "the kernel's",
	"formats/workspace restore":                   "the root of a container",
	"storage lockFile":                            "its own name in a dataset's folder, only locked",
	"storage syncFolder":                          "a folder, to sync it",
	"storage/scratch locked":                      "only a folder, to lock it",
}

// TestFilesAreRegular finds code that opens a file by its name in another way than with
// package storage/regular: a FIFO or a device with that name would hold the command.
func TestFilesAreRegular(t *testing.T) {
	found := map[string]string{}
	eachFunction(t, func(dir string, set *token.FileSet, f *ast.FuncDecl) {
		if dir == "storage/regular" {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && opens(call) {
				found[dir+" "+f.Name.Name] = set.Position(call.Pos()).String() + ": " + selector(call.Fun)
			}
			return true
		})
	})
	compare(t, found, irregular, "use package storage/regular")
}

func opens(call *ast.CallExpr) bool {
	return slices.Contains([]string{"os.Open", "os.OpenFile", "os.ReadFile", "os.OpenRoot", "os.Create", "os.WriteFile"}, selector(call.Fun))
}

// TestNoFile: what is no regular file is refused at once, whatever names it: a dataset's
// folder, a manifest or a setting.
func TestNoFile(t *testing.T) {
	kinds := map[string]func(name string) error{
		"a pipe":               func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"a device":             func(name string) error { return os.Symlink("/dev/zero", name) },
		"a file of the kernel": func(name string) error { return os.Symlink("/proc/kallsyms", name) },
		"a folder":             func(name string) error { return os.Mkdir(name, 0o777) },
		"a link to nothing":    func(name string) error { return os.Symlink("nowhere", name) },
	}
	whole := t.TempDir()
	stored(t, whole+"/rollout")
	if code, _, stderr := rollmill(t, "score", "--in", whole+"/rollout", "--reward", "one=expr:1.0"); code != 0 {
		t.Fatal(stderr)
	}
	for what, makeIt := range kinds {
		t.Run(what, func(t *testing.T) {
			for _, name := range []string{"_dataset.json", "part-*"} {
				root := filepath.Join(t.TempDir(), "epoch-0")
				if err := os.CopyFS(root, os.DirFS(whole)); err != nil {
					t.Fatal(err)
				}
				found, err := filepath.Glob(filepath.Join(root, "rollout", name))
				if err != nil || len(found) != 1 || os.Remove(found[0]) != nil || makeIt(found[0]) != nil {
					t.Fatal(found, err)
				}
				for _, words := range [][]string{{"show", root + "/rollout"}, {"audit", root + "/rollout"}, {"prove", root},
					{"score", "--in", root + "/rollout", "--out", root + "/more", "--reward", "one=expr:1.0"}} {
					refuses(t, 4, "", words...)
				}
			}
			at := filepath.Join(t.TempDir(), "it")
			if err := makeIt(at); err != nil {
				t.Fatal(err)
			}
			for setting, words := range map[string][]string{
				"--depends-on": {"score", "--in", whole + "/rollout", "--out", whole + "/x", "--reward", "one=expr:1.0", "--depends-on", at},
				"schema":       {"score", "--in", whole + "/rollout", "--out", whole + "/x", "--reward", "j=json:schema=" + at},
				"--examples":   {"rollout", "--examples", at, "--examples-format", "jsonl", "--agent", "command:true", "--url", "http://127.0.0.1:1/v1", "--model", "m", "--out", whole + "/y"},
				"import":       {"import", "--from", "chat", "--in", at, "--out", whole + "/z"},
			} {
				want := what
				if what == "a link to nothing" || what == "a folder" && setting != "schema" && setting != "--depends-on" {
					want = ""
				}
				refuses(t, 0, want, words...)
			}
		})
	}
}

// refuses runs a command that has to end with an error: code, if it is not 0.
func refuses(t *testing.T, code int, text string, words ...string) {
	t.Helper()
	type result struct {
		code   int
		stderr string
	}
	ended := make(chan result, 1)
	go func() {
		got, _, stderr := rollmill(t, words...)
		ended <- result{got, stderr}
	}()
	select {
	case r := <-ended:
		if r.code == 0 || code != 0 && r.code != code || !strings.Contains(r.stderr, text) {
			t.Errorf("%q: exit code %d: %s", words, r.code, r.stderr)
		}
	case <-time.After(time.Minute): // it would wait for ever
		t.Fatalf("%q: it waits", words)
	}
}

// TestProveReadsNoDevice: a manifest may name any file, and say that it decided the rewards.
func TestProveReadsNoDevice(t *testing.T) {
	root := t.TempDir()
	stored(t, root+"/rollout")
	if code, _, stderr := rollmill(t, "score", "--in", root+"/rollout", "--out", root+"/score", "--reward", "one=expr:1.0"); code != 0 {
		t.Fatal(stderr)
	}
	manifest := root + "/score/_dataset.json"
	data, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Replace(string(data), `"inputs":`, `"files": {"/dev/zero": "00"}, "inputs":`, 1)
	if named == string(data) || os.WriteFile(manifest, []byte(named), 0o666) != nil {
		t.Fatal(named)
	}
	refuses(t, 4, "", "prove", root)
	if out := of(t, root, 4); out.Proofs[1].Unproved != `score: reading "/dev/zero": a device, not a regular file` {
		t.Errorf("%+v", out.Proofs[1])
	}
}

// TestSignalWhileSettingsAreRead: a config that is a pipe without a writer does not keep
// the command from ending.
func TestSignalWhileSettingsAreRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("rollmill", "show", "x", "--config", pipe)
	var stderr strings.Builder
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for { // until the command has opened the pipe
		writer, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			defer writer.Close()
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _ = c.Wait(); c.ProcessState.ExitCode() != 143 || strings.Contains(stderr.String(), "no end after") {
		t.Errorf("exit code %d: %s", c.ProcessState.ExitCode(), stderr.String())
	}
}
