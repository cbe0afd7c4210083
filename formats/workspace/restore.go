package workspace

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// restorer writes an archive below a folder.
type restorer struct {
	root    *os.Root
	last    string
	checked string        // a folder that is one, as all above it
	folders []*tar.Header // get their modes at the end
}

// Restore makes what is below a folder what it was when the archive was packed; before, it is what the list was
// made of. It refuses an archive of more than so many bytes or paths, whose paths leave the folder, lead through a
// link, or are not in order. After an error, some of it is done.
func Restore(archive io.Reader, folder string, size, paths int64) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	limited := &io.LimitedReader{R: archive, N: size + 1}
	r, in := &restorer{root: root}, tar.NewReader(limited)
	for n, bytes := int64(0), int64(0); ; n++ {
		h, err := in.Next()
		if err == nil {
			bytes += h.Size // a sparse file's has no end
		}
		switch {
		case limited.N == 0 || bytes > size:
			return fmt.Errorf("the archive has more than the %d bytes that it was declared with", size)
		case errors.Is(err, io.EOF):
			return r.end(n, paths)
		case err != nil:
			return err
		case n == paths:
			return fmt.Errorf("the archive has more than the %d paths that it was declared with", paths)
		}
		if err := r.entry(h, in); err != nil {
			return fmt.Errorf("restoring %q: %w", h.Name, err)
		}
	}
}

func (r *restorer) end(n, paths int64) error {
	if n < paths {
		return fmt.Errorf("the archive has %d of the %d paths that it was declared with", n, paths)
	}
	for i := len(r.folders) - 1; i >= 0; i-- {
		if err := r.owned(r.folders[i]); err != nil {
			return fmt.Errorf("restoring %q: %w", r.folders[i].Name, err)
		}
	}
	return nil
}

// local reports whether a path of an archive is below its folder, written as Pack writes it.
func local(name string) bool {
	return filepath.IsLocal(name) && path.Clean(name) == name && name != "."
}

func (r *restorer) entry(h *tar.Header, content io.Reader) error {
	switch {
	case !local(h.Name) || h.Typeflag == tar.TypeLink && !local(h.Linkname):
		return errors.New("the path leads out of the folder")
	case r.last != "" && order(r.last, h.Name) >= 0:
		return fmt.Errorf("it is not in order: %q came before", r.last)
	}
	r.last = h.Name
	if err := r.parents(h.Name); err != nil {
		return err
	}
	info, err := r.root.Lstat(h.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info != nil && (h.Typeflag != tar.TypeDir || !info.IsDir()) {
		if err := r.root.RemoveAll(h.Name); err != nil {
			return err
		}
		info = nil
	}
	switch {
	case h.PAXRecords[removedKey] != "":
		return nil
	case h.Typeflag == tar.TypeDir:
		r.folders = append(r.folders, h)
		if info != nil {
			return nil
		}
		return r.root.Mkdir(h.Name, 0o700)
	case h.Typeflag == tar.TypeSymlink:
		if err := r.root.Symlink(h.Linkname, h.Name); err != nil {
			return err
		}
		return r.root.Lchown(h.Name, h.Uid, h.Gid)
	case h.Typeflag == tar.TypeLink:
		if err := r.parents(h.Linkname); err != nil {
			return err
		}
		return r.root.Link(h.Linkname, h.Name)
	case h.Typeflag == tar.TypeReg:
		return r.file(h, content)
	}
	return fmt.Errorf("no workspace has an entry of type %q", h.Typeflag)
}

// parents checks that all above a path are folders.
func (r *restorer) parents(name string) error {
	dir := path.Dir(name)
	if dir == r.checked || dir == "." {
		return nil
	}
	if err := r.parents(dir); err != nil {
		return err
	}
	info, err := r.root.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("/%s is no folder", dir)
	}
	r.checked = dir
	return err
}

func (r *restorer) file(h *tar.Header, content io.Reader) error {
	f, err := r.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return r.owned(h)
}

// owned sets owner and mode, in this order: a new owner loses bits.
func (r *restorer) owned(h *tar.Header) error {
	if err := r.root.Lchown(h.Name, h.Uid, h.Gid); err != nil {
		return err
	}
	mode := fs.FileMode(h.Mode).Perm()
	if h.Mode&bits[fs.ModeSticky] != 0 {
		mode |= fs.ModeSticky
	}
	return r.root.Chmod(h.Name, mode)
}
