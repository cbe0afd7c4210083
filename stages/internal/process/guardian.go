package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// guardian is a shell that outlives this process, and ends the groups that it left: one that is killed can end nothing
// itself, and the system's signal (see ownGroup) reaches leaders alone, which may ignore it. It has a session of its own and
// reads from a pipe which groups there are; the end of the pipe is this process's end. By the marks of their family (see mark) it
// also finds children in sessions of their own, and programs that were not noted yet. Its zero value is not started.
type guardian struct {
	mu   sync.Mutex
	pipe *os.File
}

// guard is the guardian of this process. A group that has ended is removed, because its number may be used again.
var guard guardian

// Leaders have the system's signal already, and DefaultGrace to end after it; what is left then has another from SIGTERM to
// SIGKILL.
const guardScript = `trap '' TERM INT HUP QUIT
groups=' '
while read -r sign group; do
	case $sign$groups in
	+*) groups="$groups$group " ;;
	-*" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;;
	esac
done
alive() {
	for group in $groups; do kill -0 "-$group" && echo "-$group"; done
	for file in $(grep -ls "$1" /proc/[0-9]*/environ); do file=${file#/proc/} && echo "${file%/environ}"; done
} 2>/dev/null
left=$(alive "$1")
for signal in TERM KILL; do
	for second in 1 2; do
		[ -n "$left" ] || exit
		sleep 1
		left=$(alive "$1")
	done
	for one in $left; do kill -s "$signal" -- "$one"; done 2>/dev/null
done
`

// start starts the guardian, unless it runs. Without a shell there is none.
func (g *guardian) start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		return
	}
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "rollmill", family)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.SysProcAttr = "/", []string{"PATH=" + os.Getenv("PATH")}, read, &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() != nil {
		write.Close()
		return
	}
	_ = cmd.Process.Release()
	g.pipe = write
}

// note adds (+) or removes (-) a group.
func (g *guardian) note(sign rune, group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return
	}
	if _, err := fmt.Fprintf(g.pipe, "%c %d\n", sign, group); err != nil { // it was killed: the next program starts another
		g.pipe.Close()
		g.pipe = nil
	}
}
