//go:build !linux

package process

import "syscall"

// ownGroup makes a program the leader of a process group. The system does not
// signal it when this process dies: an agent ends at its next call to the
// model, whose address is gone, and other programs end with their standard
// input.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
