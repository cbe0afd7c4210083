package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// OpenIn opens a regular file in a folder. A link that leads out of the folder is refused.
func OpenIn(folder, name string) (*os.File, error) {
	root, err := Root(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if _, err := root.Stat(name); err != nil {
		if _, gone := os.Stat(filepath.Join(folder, name)); gone == nil {
			return nil, refused(name, "a link out of its folder")
		}
	}
	return open(name, root.Stat, func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
}

// Root opens a folder, as os.OpenRoot does. That one waits for the writer of a FIFO.
func Root(name string) (*os.Root, error) {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return os.OpenRoot(name)
}
