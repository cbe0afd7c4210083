package harbor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
)

// RelayCommand is the first argument with which this program is a relay.
const RelayCommand = "relay-in-container"

// recorderHost stands for the relay's address in variables.
const recorderHost = "http://recorder.rollmill.invalid"

// Relay is the program in the container: it listens on the container's own loopback
// address, passes connections on to a Unix socket, and runs a program that finds the
// address in its environment. So an agent reaches its recorder in a container without
// a network. It returns the program's exit code.
func Relay(args []string) int {
	code, err := relay(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollmill relay:", err)
	}
	return code
}

func relay(args []string) (int, error) {
	if len(args) < 2 {
		return 2, errors.New("it needs a socket and a program")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go pass(in, args[0])
		}
	}()
	program := exec.Command(args[1], args[2:]...)
	for _, variable := range os.Environ() {
		program.Env = append(program.Env, strings.Replace(variable, recorderHost, "http://"+l.Addr().String(), 1))
	}
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = program.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 137, err
	case err != nil:
		return 127, err
	}
	return 0, nil
}

// pass copies a connection in both directions until both ends have said all.
func pass(in net.Conn, socket string) {
	defer in.Close()
	out, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollmill relay:", err)
		return
	}
	defer out.Close()
	done := make(chan struct{})
	go func() {
		io.Copy(out, in)
		out.(*net.UnixConn).CloseWrite()
		close(done)
	}()
	io.Copy(in, out)
	in.(*net.TCPConn).CloseWrite()
	<-done
}
