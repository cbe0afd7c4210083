package harbor

import (
	"context"
	"debug/elf"
	"errors"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/scratch"
)

// newRuntime makes the runtime that --runtime names.
func newRuntime(text string) (Runtime, error) {
	name, words, more := strings.Cut(text, ":")
	switch {
	case !more && (name == "podman" || name == "docker"):
		return commands{name}, nil
	case !more && name == "bwrap":
		return &bwrap{}, nil
	case more && strings.TrimSpace(name) == "command":
		list, err := shellquote.Split(words)
		if err == nil && len(list) > 0 {
			return commands(list), nil
		}
	}
	return nil, agents.Usage("write podman, docker, bwrap or 'command: WORDS'", "--runtime %q", text)
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

// relayBinary returns the path of this program, which must run in any container.
func relayBinary() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := elf.Open(self)
	if err != nil {
		return "", agents.Usage("use --harness "+Shell+", or Linux", "a relay for containers needs a Linux binary: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", agents.Usage("build it with CGO_ENABLED=0, or use a released one",
				"%s needs libraries that a container may not have", self)
		}
	}
	return self, nil
}

// unknownMemory stands for so many MB that no task waits.
const unknownMemory = 1 << 40

// ownerLabel is the label of a container: the machine and the folder of the process that
// started it, as a query's text.
const ownerLabel = "rollmill.owner"

func ownerOf(host, dir string) string { return url.QueryEscape(host + ":" + dir) }

// sweep removes the containers that dead processes of this machine left. A process lives as long as its
// folder among the temporary files is locked, which holds those of its attempts.
func sweep(ctx context.Context, r Runtime, host string) error {
	owners, err := r.Labelled(ctx, ownerLabel)
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
		left, again := r.Labelled(ctx, ownerLabel)
		if slices.ContainsFunc(dead, func(name string) bool { return left[name] != "" }) || again != nil {
			return errors.Join(err, again)
		}
	}
	return nil
}
