package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rollmill/rollmill/storage/regular"
)

// lockDir excludes a second sandbox for as long as the process lives; the lock
// of a killed process is released.
func lockDir(dir string) (*os.File, error) {
	f, err := regular.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another sandbox is using it: %w", err)
	}
	return f, nil
}
