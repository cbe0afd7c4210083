package harbor

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ownerLabel is the label of a container: the machine and the folder of the process that
// started it, as a query's text.
const ownerLabel = "rollmill.owner"

func ownerOf(host, dir string) string { return url.QueryEscape(host + ":" + dir) }

const (
	folderPrefix = "rollmill-harbor-"
	lockName     = "lock"
)

// owner is the folder of this process among the temporary files. It holds those of its
// attempts, and is locked as long as the process lives: whose folder is not locked has
// died, and its containers and files are anyone's to remove.
type owner struct {
	dir  string
	lock *os.File
}

func newOwner() (*owner, error) {
	made, err := os.MkdirTemp("", "."+folderPrefix) // under another name until it is locked
	if err != nil {
		return nil, err
	}
	o := &owner{dir: filepath.Join(filepath.Dir(made), filepath.Base(made)[1:])}
	if o.lock, err = os.Create(filepath.Join(made, lockName)); err == nil {
		if err = syscall.Flock(int(o.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			err = os.Rename(made, o.dir)
		}
	}
	return o, err
}

func (o *owner) close() error {
	o.lock.Close() // only locked
	return os.RemoveAll(o.dir)
}

// alive reports whether the process of a folder lives. One whose folder is gone does
// not.
func alive(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// sweep removes the containers and files that dead processes of this machine left.
func sweep(ctx context.Context, r Runtime, host string) error {
	owners, err := r.Labelled(ctx, ownerLabel)
	if err != nil {
		return err
	}
	var dead []string
	for name, owner := range owners {
		owner, err := url.QueryUnescape(owner)
		if dir, here := strings.CutPrefix(owner, host+":"); err == nil && here && !alive(dir) {
			dead = append(dead, name)
		}
	}
	if err := r.Remove(ctx, dead...); err != nil { // another process may sweep at the same time
		left, again := r.Labelled(ctx, ownerLabel)
		if slices.ContainsFunc(dead, func(name string) bool { return left[name] != "" }) || again != nil {
			return errors.Join(err, again)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	for _, dir := range left {
		if !alive(dir) {
			_ = os.RemoveAll(dir) // of another user
		}
	}
	return err
}
