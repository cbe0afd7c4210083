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

// Named makes drafts of a bucket named files, as on systems without unnamed
// ones.
func Named(b *Bucket, dir string) (*Draft, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	return &Draft{b: b, file: f, name: f.Name()}, err
}

var RenameNew = renameNew

// ShortenPauses shortens the pauses between attempts.
func ShortenPauses() { firstPause = 2 * time.Millisecond }

// SetSettling shortens the wait of a creator in stores that accept every write
// as a replacement.
func SetSettling(t *testing.T, wait time.Duration) {
	was := settling
	settling = wait
	t.Cleanup(func() { settling = was })
}

// LockFolder locks a folder as a process in Swap does.
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

// SetPatience shortens the wait for a store that does not respond.
func SetPatience(t *testing.T, wait time.Duration) {
	was := patience
	patience = wait
	t.Cleanup(func() { patience = was })
}
