package settings

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/storage"
)

// TestTasksOfABucket: tasks in a bucket are those of a folder, and of a manifest those
// that it lists, below its own folder in the bucket.
func TestTasksOfABucket(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // of the copies, which a command's end removes
	bucket, err := storage.Open(t.Context(), "mem://tasks-of-a-bucket/at")
	if err != nil {
		t.Fatal(err)
	}
	tasks := os.DirFS("../../../testdata/harbor/tasks")
	err = fs.WalkDir(tasks, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tasks, name)
		if err != nil {
			return err
		}
		return bucket.Write(t.Context(), name, data)
	})
	if err != nil {
		t.Fatal(err)
	}
	one, err := harbor.Read("../../../testdata/harbor/tasks/fix-test")
	if err != nil {
		t.Fatal(err)
	}
	manifest := "[[tasks]]\nname = \"" + one.Name + "\"\ndigest = \"sha256:" + one.Digest + "\"\n"
	if err := bucket.Write(t.Context(), "dataset.toml", []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		bucket.URI():                                   "at/fix-test at/query-service at/write-file",
		bucket.URI() + "/dataset.toml":                 "at/fix-test",
		storage.Join(bucket.URI(), "write-file"):       "write-file",
		"../../../testdata/harbor/tasks/query-service": "query-service",
		bucket.URI() + "/dataset.toml,../../../testdata/harbor/tasks/write-file": "at/fix-test write-file",
	} {
		var s cli.Session
		local, err := localTasks(t.Context(), &s, place)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for place := range strings.SplitSeq(local, ",") {
			folders, err := harbor.Find(place)
			if err != nil {
				t.Error(err)
			}
			found = append(found, folders...)
		}
		got := strings.Fields(want)
		if len(found) != len(got) {
			t.Errorf("%s: %v", place, found)
			continue
		}
		for i, folder := range found {
			if !strings.HasSuffix(folder, "/"+got[i]) {
				t.Errorf("%s: %s is not %s", place, folder, got[i])
			}
		}
	}
}
