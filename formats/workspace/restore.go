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
	"slices"
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
		case errors.Is(err, io.EOF) && n == paths:
			slices.Reverse(r.folders)
			return r.owned(r.folders...)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the archive has %d of the %d paths that it was declared with", n, paths)
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

// valid refuses what no archive has, such as a path that leaves its folder, or comes after the last one.
func valid(h *tar.Header, last string) error {
	local := func(name string) bool { return filepath.IsLocal(name) && path.Clean(name) == name && name != "." }
	switch {
	case !local(h.Name) || h.Typeflag == tar.TypeLink && !local(h.Linkname):
		return fmt.Errorf("the path leads out of the folder: %q", h.Name)
	case last != "" && order(last, h.Name) >= 0:
		return fmt.Errorf("%q is not in order: %q came before", h.Name, last)
	case h.Size < 0 || h.Uid < 0 || h.Gid < 0 || !slices.Contains([]byte{tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink}, h.Typeflag):
		return fmt.Errorf("%q: no workspace has an entry of type %q", h.Name, h.Typeflag)
	}
	return nil
}

func (r *restorer) entry(h *tar.Header, content io.Reader) error {
	err := valid(h, r.last)
	if err == nil {
		err = r.parents(h.Name)
	}
	if err == nil && h.Typeflag == tar.TypeLink {
		err = r.parents(h.Linkname)
	}
	if err != nil {
		return err
	}
	r.last = h.Name
	info, err := r.root.Lstat(h.Name)
	if err != nil || h.Typeflag != tar.TypeDir || !info.IsDir() {
		if err := r.root.RemoveAll(h.Name); err != nil { // it may not be there
			return err
		}
		info = nil
	}
	switch {
	case h.PAXRecords[removedKey] != "":
		return nil
	case h.Typeflag == tar.TypeSymlink:
		return errors.Join(r.root.Symlink(h.Linkname, h.Name), r.root.Lchown(h.Name, h.Uid, h.Gid))
	case h.Typeflag == tar.TypeLink:
		return r.root.Link(h.Linkname, h.Name)
	case h.Typeflag == tar.TypeReg:
		return r.file(h, content)
	}
	if r.folders = append(r.folders, h); info != nil {
		return nil
	}
	return r.root.Mkdir(h.Name, 0o700)
}

// parents checks that all above a path are folders.
func (r *restorer) parents(name string) error {
	above := path.Dir(name)
	for dir := above; dir != "." && dir != r.checked; dir = path.Dir(dir) {
		if info, err := r.root.Lstat(dir); err != nil {
			return err
		} else if !info.IsDir() {
			return fmt.Errorf("/%s is no folder", dir)
		}
	}
	r.checked = above
	return nil
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

// owned sets owners and modes, in this order: a new owner loses bits.
func (r *restorer) owned(list ...*tar.Header) error {
	for _, h := range list {
		mode := h.FileInfo().Mode() & (fs.ModePerm | fs.ModeSticky)
		if err := errors.Join(r.root.Lchown(h.Name, h.Uid, h.Gid), r.root.Chmod(h.Name, mode)); err != nil {
			return err
		}
	}
	return nil
}
