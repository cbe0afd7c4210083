package process

import "syscall"

// ownGroup makes a program the leader of a process group, and asks the system to send it SIGTERM
// when this process dies, even when this one is killed and can end nothing itself. The program
// then ends its own children, or the guardian does.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
