package rollout

import (
	"os/exec"
	"syscall"

	"github.com/rollmill/rollmill/stages/internal/offspring"
)

// ownGroup puts the program into a process group of its own, so that it ends
// with all its children: SIGTERM first, SIGKILL after the grace.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = offspring.Leader()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends what the program left behind.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
