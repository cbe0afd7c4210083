package regular

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// virtual reports whether a file is one that the kernel makes up: a read may never end.
func virtual(f *os.File) bool {
	var at unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &at) == nil &&
		slices.Contains([]int64{unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC}, int64(at.Type))
}
