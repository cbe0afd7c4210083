package rollout

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program into a process group of its own, so that it ends
// with all its children: SIGTERM first, SIGKILL after the grace.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = leader()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends what the program left behind.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
