package storage

import (
	"os"
	"testing"
	"time"
)

// SwapFile makes a draft write elsewhere.
func SwapFile(d *Draft, f *os.File) {
	d.file.Close()
	d.file = f
}

// Named makes drafts of a bucket named files, as where there are no unnamed ones.
func Named(b *Bucket, dir string) (*Draft, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	return &Draft{b: b, file: f, name: f.Name()}, err
}

var RenameNew = renameNew

// SetSettling shortens the wait of a creator where the store takes any write
// for a replacement.
func SetSettling(t *testing.T, wait time.Duration) {
	was := settling
	settling = wait
	t.Cleanup(func() { settling = was })
}

// LockFolder holds a folder as a process within Swap does.
func LockFolder(t *testing.T, dir string) (unlock func()) {
	t.Helper()
	unlock, err := lockFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return unlock
}

// SetLockWait shortens the wait for another's lock.
func SetLockWait(t *testing.T, wait time.Duration) {
	was := lockWait
	lockWait = wait
	t.Cleanup(func() { lockWait = was })
}

// SetPatience shortens the wait for a store that says nothing.
func SetPatience(t *testing.T, wait time.Duration) {
	was := patience
	patience = wait
	t.Cleanup(func() { patience = was })
}
