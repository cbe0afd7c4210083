package process

import "syscall"

// ownGroup makes a program the leader of a process group, and asks the system
// to send it SIGTERM when this process dies, also when this one is killed and
// can end nothing itself. What the program started is its own to end then.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
