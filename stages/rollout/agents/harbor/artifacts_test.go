package harbor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// TestArtifacts: the logs of an attempt and the files that its task names are in the
// result, also of one that failed; links, pipes and what is too long are not.
func TestArtifacts(t *testing.T) {
	containers(t)
	dir := filepath.Join(t.TempDir(), "task")
	if err := os.CopyFS(dir, os.DirFS(root("tasks", "write-file"))); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "task.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"task.toml":     `artifacts = ["/app/hello.txt", "/app/more", "/app/none", "/app/away", "/app/deep"]` + "\n" + string(file),
		"tests/test.sh": "#!/bin/bash\necho judged; echo why >&2; echo $(cat /app/reward) > /logs/verifier/reward.txt\n",
	} {
		storagetest.Program(t, filepath.Join(dir, name), text)
	}
	work := `cd /app; echo hello > hello.txt; mkdir more deep; echo 1 > more/a; printf '\377\000' > more/b; ln -s /etc/passwd more/link; mkfifo more/pipe; ` +
		`ln -s /etc away; ln -s / /logs/agent/root; ln -s /proc/self/environ /logs/agent/environ; mkfifo /logs/agent/pipe; ` +
		`head -c 3000000 /dev/zero | tr '\0' x > /logs/agent/long; for i in $(seq 200); do echo $i > deep/$i; done; echo `
	for reward, want := range map[string]string{"0.5": "<nil>", "none": "verifier"} {
		result, _, err := attempt(t, made(t, nil), dir, says(work+reward+" > reward"))
		if reward == "0.5" && err != nil || reward == "none" && class(err) != want {
			t.Fatalf("%s: %v", reward, err)
		}
		got := map[string]string{}
		for _, a := range result.Artifacts {
			if got[a.Name] = a.Content; a.Name == "/logs/agent/long" && (len(a.Content) > harbor.MaxArtifactBytes || a.Bytes < 3000000) {
				t.Errorf("a long file has %d of %d bytes", len(a.Content), a.Bytes)
			} else if a.Name != "/logs/agent/long" && strings.HasPrefix(a.Content, "data:") == (a.Bytes == int64(len(a.Content))) {
				t.Errorf("%s has %d bytes", a.Name, a.Bytes)
			}
		}
		if len(result.Artifacts) != harbor.MaxArtifacts || len(got) != harbor.MaxArtifacts {
			t.Errorf("%d files, %d names", len(result.Artifacts), len(got))
		}
		if !strings.Contains(got["/app/away/passwd"], "worker") { // the container's
			t.Errorf("%s", got["/app/away/passwd"])
		}
		delete(got, "/logs/agent/long")
		for name := range got {
			if strings.HasPrefix(name, "/app/deep/") || strings.HasPrefix(name, "/app/away/") {
				delete(got, name)
			}
		}
		if d := cmp.Diff(map[string]string{"/app/hello.txt": "hello\n", "/app/more/a": "1\n", "/app/more/b": "data:;base64,/wA=",
			"/logs/verifier/reward.txt": reward + "\n", "/logs/verifier/test-stdout.txt": "judged\nwhy\n"}, got); d != "" {
			t.Errorf("%s: -want +got: %s", reward, d)
		}
	}
}

// TestKept: what is kept is bounded, and a cut text ends between characters.
func TestKept(t *testing.T) {
	k := &kept{harbor.Kept{Left: 5}}
	for name, text := range map[string]string{"/a": "ééé"} {
		if err := k.Add(name, int64(len(text)), strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	}
	k.Add("/a", 1, strings.NewReader("b"))
	k.Add("/b", 1, strings.NewReader("b"))
	if d := cmp.Diff([]formats.Artifact{{Name: "/a", Bytes: 6, Content: "éé"}, {Name: "/b", Bytes: 1}}, k.List); d != "" {
		t.Errorf("-want +got: %s", d)
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Skip(err)
	}
	if err := k.folder(t.Context(), dir, "/logs"); err != nil || len(k.List) != 2 {
		t.Errorf("%v: %v", err, k.List)
	}
}

// TestKeptEnds: reading what an attempt left ends with its limits and its context.
func TestKeptEnds(t *testing.T) {
	many, deep := t.TempDir(), t.TempDir()
	for i := range visited {
		if err := os.Symlink("none", filepath.Join(many, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	nested := filepath.Join(deep, strings.Repeat("d/", 3*deepest))
	if err := os.MkdirAll(nested, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(many, "z"), filepath.Join(nested, "z"), filepath.Join(deep, "a")} {
		if err := os.WriteFile(file, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string][]formats.Artifact{many: nil, deep: {{Name: "/logs/a", Bytes: 4, Content: "text"}}} {
		k := &kept{harbor.Kept{Left: 100}}
		if err := k.folder(t.Context(), dir, "/logs"); err == nil || cmp.Diff(want, k.List) != "" && dir == deep {
			t.Errorf("%v: %v", err, k.List)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	k := &kept{harbor.Kept{Left: 100}}
	if err := k.folder(ended, deep, "/logs"); !errors.Is(err, context.Canceled) || len(k.List) > 0 {
		t.Errorf("%v: %v", err, k.List)
	}
	k.List = make([]formats.Artifact, harbor.MaxArtifacts)
	if err := k.folder(t.Context(), deep, "/logs"); err == nil || len(k.List) != harbor.MaxArtifacts {
		t.Errorf("%v: %d files", err, len(k.List))
	}
}
