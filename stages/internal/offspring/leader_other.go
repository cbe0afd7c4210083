//go:build !linux

package offspring

import "syscall"

// Leader makes a program the leader of a process group. Where the system tells
// it nothing of this process's sudden death, it ends at its next call to the
// model, whose address is gone.
func Leader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
