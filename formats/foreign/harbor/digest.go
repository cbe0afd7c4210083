package harbor

import (
	"crypto/sha256"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// counted are a task's files and folders that its digest covers.
var counted = []string{"task.toml", "instruction.md", "README.md", "environment", "tests", "solution"}

// digest returns the digest of a task's content, as Harbor's registry has it
// (Packager.compute_content_hash of its 0.25): the SHA-256 of a line "NAME\0SUM\n" for
// each counted file, without caches and editors' files. A .gitignore changes nothing.
func digest(dir string) (string, error) {
	all, err := files(dir)
	sum := sha256.New()
	for _, f := range all {
		first, _, _ := strings.Cut(f.Name, "/")
		if slices.Contains(counted, first) && !ignored(f.Name) {
			fmt.Fprintf(sum, "%s\x00%s\n", f.Name, f.Sum)
		}
	}
	return inHex(sum), err
}

// ignored reports whether a file is one that programs leave behind.
func ignored(name string) bool {
	return strings.Contains("/"+name, "/__pycache__/") || strings.HasSuffix(name, "~") || path.Base(name) == ".DS_Store" ||
		slices.Contains([]string{".pyc", ".swp", ".swo"}, path.Ext(name))
}

func (t Task) TestsDir() string { return filepath.Join(t.Dir, "tests") }

func (t Task) Tests() ([]File, error) { return files(t.TestsDir()) }

// EnvironmentDir returns the folder of the Dockerfile.
func (t Task) EnvironmentDir() string { return filepath.Join(t.Dir, "environment") }

// ImageName returns the name of the task's image: its own, or one for the files of
// its environment, so that tasks with the same share it. It is empty for a task without
// an image.
func (t Task) ImageName() (string, error) {
	if t.Environment.Image != "" {
		return t.Environment.Image, nil
	}
	all, err := files(t.EnvironmentDir())
	if err != nil || !slices.ContainsFunc(all, func(f File) bool { return f.Name == "Dockerfile" }) {
		return "", err
	}
	sum := sha256.New()
	for _, f := range all {
		fmt.Fprintf(sum, "%q %v %s\n", f.Name, f.Runs, f.Sum)
	}
	return "localhost/rollmill-task:" + inHex(sum)[:16], nil
}
