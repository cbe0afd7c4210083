package harbor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// TestArtifacts: the logs of an attempt and the files that its task names are in the
// result, also of one that failed; links, pipes and what is too long are not.
func TestArtifacts(t *testing.T) {
	manyContainers(t)
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
