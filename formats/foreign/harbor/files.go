package harbor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
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
