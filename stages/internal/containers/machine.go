package containers

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/kballard/go-shellquote"
	"golang.org/x/sync/semaphore"

	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/scratch"
)

// Machine is where this process runs containers.
type Machine struct {
	Runtime
	folder *scratch.Folder // of this process, with those of its containers
	host   string
	starts *semaphore.Weighted // paces what the runtime starts
	memory *semaphore.Weighted // that containers declare, in MB
	room   int64               // of memory
	images sync.Map            // func() error, by name

	building     context.Context // ends the building of images
	stopBuilding context.CancelFunc
}

// Open finds the runtime that a text names, and removes what dead processes left. Its
// errors of kind usage are about the text.
func Open(ctx context.Context, text string) (*Machine, error) {
	r, err := New(text)
	if err = cmp.Or(err, closeInherited()); err != nil {
		return nil, err
	}
	if _, err := r.Found(ctx); err != nil {
		const hint = "install podman or docker, or name a program: 'command: WORDS'"
		return nil, fault.Errorf(fault.Usage, hint, "runtime %s: %w", text, err)
	}
	m := &Machine{Runtime: r, room: memoryMB(), starts: semaphore.NewWeighted(int64(2 * runtime.NumCPU()))}
	if m.host, err = os.Hostname(); err != nil {
		return nil, err
	}
	if err := sweep(ctx, r, m.host); err != nil {
		return nil, fault.Errorf(fault.Usage, "does `"+text+" ps` work for this user?", "runtime %s: %w", text, err)
	}
	if m.folder, err = scratch.Make(""); err != nil {
		return nil, err
	}
	if b, ok := r.(*bwrap); ok {
		b.dir = m.folder.Path
	}
	m.memory = semaphore.NewWeighted(m.room)
	m.building, m.stopBuilding = context.WithCancel(context.WithoutCancel(ctx))
	return m, nil
}

// Close removes what this process still has. It may be called twice.
func (m *Machine) Close() error {
	m.stopBuilding()
	if m.folder == nil {
		return nil
	}
	err := m.folder.Close()
	m.folder = nil
	return errors.Join(err, sweep(context.Background(), m.Runtime, m.host))
}

// Reserve waits until there is room for a container's memory, in MB.
func (m *Machine) Reserve(ctx context.Context, memory int64) (release func(), err error) {
	weight := min(max(memory, 1), m.room)
	if err := m.memory.Acquire(ctx, weight); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { m.memory.Release(weight) }, nil
}

// Folder makes a folder for one container's files, and a name for the container.
func (m *Machine) Folder() (dir, name string, err error) {
	dir, err = os.MkdirTemp(m.folder.Path, "")
	return dir, filepath.Base(m.folder.Path) + "-" + filepath.Base(dir), err
}

// Start starts a container of this process for a trajectory.
func (m *Machine) Start(ctx context.Context, trajectory string, c Container) error {
	c.Labels = map[string]string{OwnerLabel: m.Owner(), "rollmill.trajectory": trajectory}
	return m.paced(ctx, func() error { return m.Runtime.Start(ctx, c) })
}

// Again is the runtime's, paced as starts are.
func (m *Machine) Again(ctx context.Context, name string) error {
	return m.paced(ctx, func() error { return m.Runtime.Again(ctx, name) })
}

func (m *Machine) paced(ctx context.Context, start func() error) error {
	if err := m.starts.Acquire(ctx, 1); err != nil {
		return err
	}
	defer m.starts.Release(1)
	return start()
}

// New makes the runtime that a text names.
func New(text string) (Runtime, error) {
	name, words, more := strings.Cut(text, ":")
	switch {
	case !more && (name == "podman" || name == "docker"):
		return commands{name}, nil
	case !more && name == "bwrap":
		return &bwrap{boxes: map[string]cell{}}, nil
	case more && strings.TrimSpace(name) == "command":
		list, err := shellquote.Split(words)
		if err == nil && len(list) > 0 {
			return commands(list), nil
		}
	}
	return nil, fault.Errorf(fault.Usage, "write podman, docker, bwrap or 'command: WORDS'", "runtime %q", text)
}

// closeInherited lets no runtime, and no container, inherit what whoever started this process left open.
func closeInherited() error {
	open, err := os.ReadDir("/dev/fd")
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return err
}

// RelayBinary returns the path of this program, which must run in any container. Its errors
// are of kind usage; without is what else can be done.
func RelayBinary(without string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := elf.Open(self)
	if err != nil {
		return "", fault.Errorf(fault.Usage, without, "a relay for containers needs a Linux binary: %w", err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "", fault.Errorf(fault.Usage, "build it with CGO_ENABLED=0, or use a released one",
			"%s needs libraries that a container may not have", self)
	}
	return self, nil
}

// unknownMemory stands for so many MB that no task waits.
const unknownMemory = 1 << 40

// OwnerLabel is the label of a container: the machine and the folder of the process that
// started it, as a query's text.
const OwnerLabel = "rollmill.owner"

// Owner is the value of this process.
func (m *Machine) Owner() string { return url.QueryEscape(m.host + ":" + m.folder.Path) }

// sweep removes the containers that dead processes of this machine left. A process lives as long as its
// folder among the temporary files is locked, which holds those of its attempts.
func sweep(ctx context.Context, r Runtime, host string) error {
	owners, err := r.Labelled(ctx, OwnerLabel)
	if err != nil {
		return err
	}
	var dead []string
	for name, owner := range owners {
		owner, err := url.QueryUnescape(owner)
		if dir, here := strings.CutPrefix(owner, host+":"); err == nil && here && !scratch.Alive(dir) {
			dead = append(dead, name)
		}
	}
	if err := r.Remove(ctx, dead...); err != nil { // another process may sweep at the same time
		left, again := r.Labelled(ctx, OwnerLabel)
		if slices.ContainsFunc(dead, func(name string) bool { return left[name] != "" }) || again != nil {
			return errors.Join(err, again)
		}
	}
	return nil
}
