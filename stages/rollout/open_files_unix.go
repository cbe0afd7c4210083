//go:build unix

package rollout

import "syscall"

// fileLimit returns how many files this process may open.
func fileLimit() (n int64, known bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<62 {
		return 0, false
	}
	return int64(limit.Cur), true
}
