package lease

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/google/uuid"
)

// Owner identifies a process, so that another one on the same machine can see
// whether it has ended without waiting for its lease.
type Owner struct {
	ID        string `json:"id"` // of this one call, random
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	Boot      string `json:"boot,omitempty"`      // of the machine
	Namespace string `json:"namespace,omitempty"` // of process ids
	Started   string `json:"started,omitempty"`   // the process, in ticks since boot
}

// Self returns this process, with a new random id.
func Self() Owner {
	host, _ := os.Hostname()
	pid := os.Getpid()
	o := Owner{ID: uuid.NewString(), Host: host, PID: pid, Boot: Boot(), Namespace: namespace()}
	o.Started, _ = started(pid)
	return o
}

func (o Owner) String() string { return fmt.Sprintf("process %d on %s", o.PID, o.Host) }

// Gone returns true only if it is certain: the same boot, the same process ids,
// and no process with that id and start time.
func (o Owner) Gone() bool {
	if o.Boot == "" || o.Namespace == "" || o.Started == "" || o.Boot != Boot() || o.Namespace != namespace() {
		return false
	}
	now, err := started(o.PID)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return now != o.Started
}

// Boot returns an id that changes with each start of the machine. Tests replace
// it to simulate machines.
var Boot = func() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(data))
}

func namespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}

// started returns the 22nd field of /proc/PID/stat; the second may contain
// anything, in parentheses. A zombie has ended.
func started(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", fs.ErrNotExist
	}
	return fields[19], nil
}
