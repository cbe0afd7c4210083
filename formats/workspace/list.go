package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// listed is what a list says of a path of the container, which is without the first slash.
type listed struct {
	Path, Link string // Link is the target of a symbolic link
	Mode       fs.FileMode
	UID, GID   uint32
	Size       int64  // of a file
	Names      uint64 // of a file: how many it has
	Sum        string
	Mount      string // the mount that has it, if that is no part of the workspace
	Why        string // it could not be read
}

type entry struct {
	listed
	bits  int64 // of Mode, as an archive has them
	inode [2]uint64
}

// tree is what belongs to a workspace: all below roots, which are in order, but not what is mounted there.
type tree struct {
	roots  []string
	mounts map[string]string // kinds of file systems, by where they are
}

// readMounts reads the list of this process's own mounts. Spaces in it are \040, which none of our mounts has.
func readMounts(roots []string) (tree, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	t := tree{roots, map[string]string{}}
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		if at, kind := strings.Fields(before), strings.Fields(after); len(at) > 4 && len(kind) > 0 {
			t.mounts[at[4]] = kind[0]
		}
	}
	return t, err
}

// other returns the mount that has a path, "" for one of the workspace.
func (t tree) other(at string) string {
	for ; !slices.Contains(t.roots, at); at = path.Dir(at) {
		if t.mounts[at] != "" || at == "/" {
			return at
		}
	}
	return ""
}

// kernel are kinds of file systems that hold nobody's files.
var kernel = []string{"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "securityfs", "debugfs", "tracefs", "bpf"}

// walk visits everything, each path before what is below it.
func (t tree) walk(visit func(entry) error) error {
	for i, root := range t.roots {
		if slices.ContainsFunc(t.roots[:i], func(above string) bool { return isBelow(root, above) }) {
			continue
		}
		err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
			switch {
			case d == nil:
				return err
			case err != nil: // of a folder that was visited
				return visit(entry{listed: listed{Path: at[1:], Why: reason(err)}})
			case at == "/":
				return nil
			case (at == Own || slices.Contains(kernel, t.mounts[at])) && d.IsDir():
				return fs.SkipDir
			case slices.Contains(kernel, t.mounts[at]):
				return nil
			}
			e := read(at)
			e.Mount = t.other(at)
			return visit(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func isBelow(at, folder string) bool {
	return at != folder && strings.HasPrefix(at, strings.TrimSuffix(folder, "/")+"/")
}

// order compares paths so that what is in a folder follows it directly.
func order(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

// read reads what is at a path, without the content of a file.
func read(at string) (e entry) {
	e.Path = at[1:]
	info, err := os.Lstat(at)
	if err == nil {
		s := info.Sys().(*syscall.Stat_t)
		e.Mode, e.bits, e.UID, e.GID = info.Mode(), int64(s.Mode&0o7777), s.Uid, s.Gid
		switch e.Mode.Type() {
		case 0:
			e.Size, e.Names, e.inode = s.Size, uint64(s.Nlink), [2]uint64{uint64(s.Dev), s.Ino}
		case fs.ModeSymlink:
			e.Link, err = os.Readlink(at)
		}
	}
	if err != nil {
		e.Why = reason(err)
	}
	return e
}

// reason says why a path cannot be read, without the path.
func reason(err error) string {
	if why := (*fs.PathError)(nil); errors.As(err, &why) {
		err = why.Err
	}
	return "cannot be read: " + err.Error()
}

// open opens a file, and nothing else that may be at its path by now.
func (e *entry) open() (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile("/"+e.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, info, nil
	}
	f.Close()
	return nil, nil, cmp.Or(err, errors.New("it is no file any more"))
}

// digest adds the digest of a file's content.
func (e *entry) digest() {
	sum := sha256.New()
	f, _, err := e.open()
	if err == nil {
		_, err = io.Copy(sum, f)
		f.Close()
	}
	if err != nil {
		e.Why = reason(err)
	}
	e.Sum = string(sum.Sum(nil))
}

// List writes all paths, with digests.
func (t tree) list(w io.Writer) error {
	list := gob.NewEncoder(w)
	return t.walk(func(e entry) error {
		if e.Mode.IsRegular() {
			e.digest()
		}
		return list.Encode(e.listed)
	})
}
