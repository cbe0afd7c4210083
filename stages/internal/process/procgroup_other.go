//go:build !linux

package process

import "syscall"

// ownGroup makes a program the leader of a process group. The system does not
// tell it that this process died: an agent ends at its next call to the model,
// whose address is gone, and other programs when their standard input ends.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
