//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program the leader of a process group, so that its
// children can be killed with it. A trainer that goes on takes a session of
// its own.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
