package containers

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// What is looked at below a folder that the container wrote.
const (
	Visited = 10000 // files and folders
	Deepest = 32    // folders in each other
)

// Walk visits what is below a folder, a folder before what is in it, and follows no link out of it.
// It ends with ctx, when visit returns fs.SkipAll, or at its limits, and reports whether it
// saw all.
func Walk(ctx context.Context, dir string, visit func(file string, in *os.Root, e fs.DirEntry) error) (whole bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	left, whole := Visited, true
	err = fs.WalkDir(few{root.FS(), root, &left}, ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || file == ".":
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case left == 0 || strings.Count(file, "/") >= Deepest:
			whole = false
			return fs.SkipDir
		}
		left--
		if err = visit(file, root, e); err == fs.SkipAll {
			whole = false
		}
		return err
	})
	return whole && err == nil, err
}

// few are the files of a system, of a folder no more than one beyond those that are left to visit.
type few struct {
	fs.FS
	root *os.Root
	left *int
}

// ReadDir is part of fs.ReadDirFS.
func (s few) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0) // it may be a pipe by now
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(*s.left + 1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
