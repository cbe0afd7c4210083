package offspring

import "syscall"

// Leader makes a program the leader of a process group that ends with this
// process: also when this one is killed and can end nobody itself, the program
// gets SIGTERM. What the program started meanwhile is its own to end then.
func Leader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
