package storage

import (
	"os"
	"path/filepath"

	"github.com/rollmill/rollmill/storage/regular"
)

// path returns where a local bucket stores an object. checkKey has checked the key.
func (b *Bucket) path(key string) string {
	return filepath.Join(b.disk, filepath.FromSlash(key))
}

// file opens an object on a local disk and returns its size. A folder is not an object.
func (b *Bucket) file(key string) (*os.File, int64, error) {
	if info, err := os.Stat(b.path(key)); err == nil && info.IsDir() {
		return nil, 0, ErrNotExist
	}
	var f *os.File
	var err error
	if b.confined {
		f, err = regular.OpenIn(b.disk, filepath.FromSlash(key))
	} else {
		f, err = regular.Open(b.path(key))
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// remove removes a file, and the folders that become empty. A folder is not an object.
func (b *Bucket) remove(file string) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil
	}
	if err := os.Remove(file); err != nil {
		return bare(err)
	}
	for dir := filepath.Dir(file); len(dir) > len(b.disk) && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
	}
	return nil
}
