package harbor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// What is looked at below a folder that the container wrote.
const (
	visited = 10000 // files and folders
	deepest = 32    // folders in each other
)

// walk visits what is below a folder, a folder before what is in it, and follows no link.
// It ends with ctx, when visit returns fs.SkipAll, or at its limits, and reports whether it
// saw all.
func walk(ctx context.Context, dir string, visit func(file string, in *os.Root, e fs.DirEntry) error) (whole bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	left := visited
	whole = true
	var below func(in *os.Root, name string, depth int) error
	below = func(in *os.Root, name string, depth int) error {
		f, err := in.Open(".")
		if err != nil {
			return err
		}
		entries, err := f.ReadDir(left + 1)
		f.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			if left--; left < 0 || depth > deepest {
				whole = false
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			file := path.Join(name, e.Name())
			if err := visit(file, in, e); err != nil {
				return err
			}
			if !e.IsDir() {
				continue
			}
			next, err := in.OpenRoot(e.Name())
			if err != nil {
				return err
			}
			err = below(next, file, depth+1)
			next.Close()
			if err != nil {
				return err
			}
		}
		return nil
	}
	err = below(root, ".", 1)
	if errors.Is(err, fs.SkipAll) {
		return false, nil
	}
	return whole && err == nil, err
}
