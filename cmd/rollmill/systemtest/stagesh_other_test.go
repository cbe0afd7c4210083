//go:build !linux

package systemtest

import "os/exec"

// isolate does nothing: there are no namespaces of processes.
func isolate(*exec.Cmd) {}

func alone() {}
