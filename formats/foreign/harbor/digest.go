package harbor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/regular"
)

// File is a file of a task, by its path below a folder of it.
type File struct {
	Name string
	Size int64
	Runs bool   // it is executable
	Sum  string // SHA-256 of its content, in hex
}

// What a folder of a task may hold: its digest reads all of it.
const (
	maxFiles = 100_000
	maxBytes = 8 << 30
)

// files returns the files below a folder, sorted by name; none where there is no such
// folder. A link counts as the file that it leads to; one that leaves the folder, and
// whatever is neither file, folder nor link, is an error.
func files(dir string) (out []File, err error) {
	root, err := regular.Root(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	left := int64(maxBytes)
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := root.Stat(name)
		switch at := filepath.Join(dir, name); {
		case err != nil && e.Type()&fs.ModeSymlink != 0:
			return fault.Invalid(at, "a task holds all its files", err,
				"the link leads out of the task's folder, or nowhere")
		case err != nil || info.IsDir():
			return err
		case !info.Mode().IsRegular():
			return fault.Invalid(at, "", nil, "not a file")
		}
		if left -= info.Size(); left < 0 || len(out) == maxFiles {
			return fault.Invalid(filepath.Join(dir, name), "download large data in the Dockerfile", nil,
				"the task holds more than %d files or %d GiB", maxFiles, maxBytes>>30)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		sum, err := Sum(io.LimitReader(f, info.Size())) // it may grow
		out = append(out, File{name, info.Size(), info.Mode()&0o111 != 0, sum})
		return err
	})
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// Sum returns the digest of what is read.
func Sum(r io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return inHex(sum), err
}

func inHex(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

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

// TestsDir returns the folder of the tests.
func (t Task) TestsDir() string { return filepath.Join(t.Dir, "tests") }

// Tests returns the files of the tests.
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
