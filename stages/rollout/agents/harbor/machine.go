package harbor

import (
	"debug/elf"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/kballard/go-shellquote"
	"github.com/rollmill/rollmill/stages/rollout/agents"
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
