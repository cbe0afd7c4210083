package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"unsafe"
)

// alone runs a shell script in a network of its own, which has this machine's loopback and no
// way out, and prints how often something tried to leave.
func alone() {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err == nil {
		up := struct {
			name  [16]byte
			flags uint16
			_     [22]byte
		}{[16]byte{'l', 'o'}, syscall.IFF_UP, [22]byte{}}
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&up))); e != 0 {
			err = e
		}
	}
	script := exec.Command("sh", "-ec", os.Args[1])
	script.Stdout, script.Stderr = os.Stderr, os.Stderr
	if err = errors.Join(err, script.Run()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, file := range []string{"/proc/self/net/snmp", "/proc/self/net/snmp6"} {
		text, _ := os.ReadFile(file)
		os.Stdout.Write(text)
	}
}

var (
	heading = regexp.MustCompile(`(?m)^Ip: (.*OutNoRoutes).*\nIp: (.*)$`)
	ofSix   = regexp.MustCompile(`(?m)^Ip6OutNoRoutes\s+(\d+)$`)
	field   = regexp.MustCompile(`\S+`)
)

// left returns how often a script tried to reach another machine, by IPv4 and by IPv6.
func left(t *testing.T, dir, script string) int {
	t.Helper()
	cmd := exec.Command("alone", script)
	var log bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	text, err := cmd.Output()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("this user may make no namespace: ", err)
	}
	four, six := heading.FindSubmatch(text), ofSix.FindSubmatch(text)
	if err != nil || four == nil || six == nil {
		t.Fatalf("%v: %s%s", err, text, &log)
	}
	a, err := strconv.Atoi(string(field.FindAll(four[2], -1)[len(field.FindAll(four[1], -1))-1]))
	if err != nil {
		t.Fatal(err)
	}
	b, err := strconv.Atoi(string(six[1]))
	if err != nil {
		t.Fatal(err)
	}
	return a + b
}

// TestNothingLeaves: a project of init, from the first try to two epochs and what is made of them, asks for
// no other machine, not even for its name; a command with another machine's URL is seen.
func TestNothingLeaves(t *testing.T) {
	dir := t.TempDir()
	if n := left(t, dir, `
rollmill init --agent prompt project
cd project
make try
make EPOCH=1
rollmill report --root runs/first
rollmill show runs/first/epoch-1/score
rollmill audit runs/first/epoch-1/rollout
rollmill export --in runs/first/epoch-1/rollout --to rows --out rows.jsonl
rollmill import --from rows --in rows.jsonl --out imported/rollout
rollmill submit --in runs/first/epoch-1/curate --backend file --out handed-over
rollmill view --root runs/first >link & viewer=$!
while ! test -s link; do sleep 0.1; done
kill $viewer`); n != 0 {
		t.Errorf("%d packets were to leave", n)
	}
	if n := left(t, filepath.Join(dir, "project"), `rollmill rollout --examples examples.jsonl --user x --url http://192.0.2.1/v1 --model m --out elsewhere || true`); n == 0 {
		t.Error("a call of another machine was not seen")
	}
}
