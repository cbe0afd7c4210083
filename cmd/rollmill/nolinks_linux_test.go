package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noLinks is a program that runs another whose kernel has no hard links and no rename with
// flags, as on a file system of gcsfuse.
func noLinks() {
	runtime.LockOSThread()
	jump := func(value uint32, yes uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: yes}
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	end := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	const allow, fails = 0x7fff0000, 0x00050000
	filter := []unix.SockFilter{load(0), jump(unix.SYS_LINKAT, 5), jump(unix.SYS_RENAMEAT2, 1), end(allow),
		load(16 + 4*8), jump(0, 2), end(fails | uint32(unix.EINVAL)), end(fails | uint32(unix.EPERM)), end(allow)}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
	path, missing := exec.LookPath(os.Args[1])
	if err = errors.Join(err, missing); err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "nolinks:", err)
	os.Exit(99)
}

// TestNoHardLinks checks that a file system on which nothing can be created only once is
// refused by name, in a few lines.
func TestNoHardLinks(t *testing.T) {
	dir := t.TempDir()
	run := func(words ...string) (int, string) {
		var said strings.Builder
		cmd := exec.Command("nolinks", append([]string{"rollmill"}, words...)...)
		cmd.Stderr, cmd.Dir = &said, dir
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), said.String()
	}
	if err := os.WriteFile(filepath.Join(dir, "chat.jsonl"),
		[]byte(`{"messages": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}]}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"check", "--store", "store"}, {"import", "--from", "chat", "--in", "chat.jsonl", "--out", "out"}} {
		code, stderr := run(words...)
		if code == 99 && strings.Contains(stderr, "nolinks:") {
			t.Skip(stderr)
		}
		if code != 2 || !strings.Contains(stderr, "neither hard links nor") || !strings.Contains(stderr, "hint: write to a local disk") ||
			strings.Contains(stderr, "permission denied;") || strings.Contains(stderr, "can be written") || strings.Count(stderr, "\n") > 4 {
			t.Errorf("%q: exit code %d:\n%s", words, code, stderr)
		}
	}
}
