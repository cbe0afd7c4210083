//go:build !linux

package process

import "syscall"

// ownGroup makes a program the leader of a process group. The system does not
// signal it when this process dies: the guardian does.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
