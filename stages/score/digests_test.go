package score

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type stored struct{ *bytes.Reader }

func (stored) Close() error { return nil }

// TestFilesAtURIsAreInTheIdentity by their content, as those on a disk are.
func TestFilesAtURIsAreInTheIdentity(t *testing.T) {
	local := filepath.Join(t.TempDir(), "echo")
	digest := func(text string) string {
		t.Helper()
		if err := os.WriteFile(local, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := digestFiles(t.Context(), []string{"s3://b/echo", local}, func(_ context.Context, uri string) (File, error) {
			if uri != "s3://b/echo" {
				t.Errorf("%s is opened", uri)
			}
			return stored{bytes.NewReader([]byte(text))}, nil
		})
		if err != nil || len(got) != 2 || got["s3://b/echo"] != got[local] {
			t.Errorf("%v, %v", got, err)
		}
		return got["s3://b/echo"]
	}
	if digest("one round") == digest("next round") {
		t.Error("another content has the same digest")
	}
	_, err := digestFiles(t.Context(), []string{"s3://b/none"}, func(context.Context, string) (File, error) { return nil, fs.ErrNotExist })
	if err == nil || !strings.Contains(err.Error(), "s3://b/none") {
		t.Error(err)
	}
}
