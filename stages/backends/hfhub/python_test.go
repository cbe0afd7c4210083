package hfhub_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/stages/backends/hfhub"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
)

// TestPythonClient: the hub's own client gets from the test server what ours gets.
func TestPythonClient(t *testing.T) {
	python, _ := filepath.Abs("../../../.venv-data/bin/python")
	if p := os.Getenv("ROLLMILL_PYTHON_HUB"); p != "" {
		python = p
	}
	if exec.Command(python, "-c", "import huggingface_hub").Run() != nil {
		t.Skip("no Python with huggingface_hub: .ci/venv data, or set ROLLMILL_PYTHON_HUB")
	}
	c, s := start(t, hubtest.Faults{ChunkSize: 100 << 10})
	folder := t.TempDir()
	var files []hfhub.File
	for path, data := range map[string][]byte{
		"README.md": []byte("# a card\n"), "empty.txt": nil, "data/a.jsonl": []byte("{\"a\": 1}\n"),
		"data/small.parquet": bytes.Repeat([]byte("0123456789"), 100), "data/large.parquet": bytes.Repeat([]byte("9876543210"), 30_000),
	} {
		at := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, data, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, small(path, data))
	}
	if err := c.Create(t.Context(), "acme/ours"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(t.Context(), hfhub.Change{Repo: "acme/ours", Summary: "a batch", Files: files, Guard: func() error { return nil }}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "../../../testdata/consumers/hub/check.py", folder)
	cmd.Env = append(os.Environ(), "HF_ENDPOINT="+s.URL, "HF_TOKEN="+hubtest.Token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nthe server was asked:\n%q", err, out, s.Log())
	}
	t.Logf("%s", out)
}
