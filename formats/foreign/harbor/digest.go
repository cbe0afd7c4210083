package harbor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rollmill/rollmill/formats"
)

// digest returns the SHA-256 of every file below a folder: its path, whether it is
// executable, and its content. A link counts by its text; one that leaves the folder,
// and whatever is neither file, folder nor link, is an error.
func digest(dir string) (string, error) {
	sum := sha256.New()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch at := filepath.Join(dir, name); {
		case info.Mode()&fs.ModeSymlink != 0:
			if _, err := root.Stat(name); err != nil {
				return formats.Invalid(at, "a task holds all its files", err, "the link leads out of the task's folder, or nowhere")
			}
			to, err := root.Readlink(name)
			fmt.Fprintf(sum, "%q -> %q\n", name, to)
			return err
		case !info.Mode().IsRegular():
			return formats.Invalid(at, "", nil, "not a file")
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(sum, "%q %v %d\n", name, info.Mode()&0o111 != 0, info.Size())
		_, err = io.Copy(sum, f)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// File is a file of a task, by its path below a folder of it.
type File struct {
	Name string
	Size int64
	Sum  string // of its content
}

// Sum returns the digest of what is read.
func Sum(r io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// TestsDir returns the folder of the tests.
func (t Task) TestsDir() string { return filepath.Join(t.Dir, "tests") }

// EnvironmentDir returns the folder of the Dockerfile.
func (t Task) EnvironmentDir() string { return filepath.Join(t.Dir, "environment") }

// ImageName returns the name of the task's image: its own, or one for the content of
// its environment, so that tasks with the same share it. It is empty for a task without
// an image.
func (t Task) ImageName() (string, error) {
	if t.Environment.Image != "" {
		return t.Environment.Image, nil
	}
	if _, err := os.Stat(filepath.Join(t.EnvironmentDir(), "Dockerfile")); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	sum, err := digest(t.EnvironmentDir())
	if err != nil {
		return "", err
	}
	return "localhost/rollmill-task:" + sum[:16], nil
}

// Tests returns the files of the tests.
func (t Task) Tests() (out []File, err error) {
	err = fs.WalkDir(os.DirFS(t.TestsDir()), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(filepath.Join(t.TestsDir(), name))
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		sum, err := Sum(f)
		out = append(out, File{name, info.Size(), sum})
		return err
	})
	return out, err
}
