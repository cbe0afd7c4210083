//go:build unix

package cli

import "syscall"

// noMemoryDump keeps a crash from writing the process's memory to disk.
func noMemoryDump() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // the dump is the system's, which may not allow it
	}
}
