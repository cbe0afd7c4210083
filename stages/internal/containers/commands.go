package containers

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/process"
)

// commands is the runtime of a program that takes Podman's commands: podman, docker, or
// the user's own.
type commands []string

var imageID = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`) // what no registry has a name for

func (c commands) Found(ctx context.Context) (string, error) {
	out, err := c.output(ctx, "--version")
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("there is no program %s", c[0])
	}
	return out, err
}

func (c commands) Image(ctx context.Context, image, folder string) error {
	if _, err := c.output(ctx, "image", "inspect", "--format", "{{.Id}}", image); err == nil {
		return nil
	}
	words := []string{"pull", "--quiet", image}
	switch {
	case imageID.MatchString(image):
		return fmt.Errorf("image %s is not on this machine", image)
	case image == "":
		return errors.New("the task has neither environment/Dockerfile nor docker_image; --runtime bwrap runs such tasks")
	case folder != "":
		words = []string{"build", "--quiet", "--tag", image, folder}
	}
	_, err := c.output(ctx, words...)
	return err
}

func (c commands) Start(ctx context.Context, b Container) error {
	words := []string{"run", "--detach", "--stop-timeout", "0", "--name", b.Name, "--pids-limit", fmt.Sprint(b.Processes)}
	add := func(given bool, more ...string) {
		if given {
			words = append(words, more...)
		}
	}
	add(b.NoNetwork, "--network", "none")
	add(b.CPUs > 0, "--cpus", strconv.FormatFloat(b.CPUs, 'f', -1, 64))
	add(b.MemoryMB > 0, "--memory", fmt.Sprintf("%dm", b.MemoryMB))
	add(b.FileMB > 0, "--ulimit", fmt.Sprintf("fsize=%d:%[1]d", b.FileMB<<20))
	add(b.Workdir != "", "--workdir", b.Workdir)
	for name, value := range b.Labels {
		add(true, "--label", name+"="+value)
	}
	for _, m := range b.Mounts {
		add(true, "--volume", m.From+":"+m.To+map[bool]string{true: ":ro"}[m.ReadOnly])
	}
	file, remove, err := envFile(b.Dir, b.Env)
	defer remove()
	if err != nil {
		return err
	}
	words = slices.Concat(c, words, file, []string{b.Image, "sh", "-c", "exec sleep infinity"})
	return runQuoted(ctx, process.Program{Words: words, Dir: b.Dir})
}

// envFile returns the option with a file of variables, which only this user reads. In the
// environment of the runtime's program, a task's LD_PRELOAD or PATH would decide what runs
// on this machine; among its words, everyone here could read a key.
func envFile(dir string, env []string) (words []string, remove func(), err error) {
	if len(env) == 0 {
		return nil, func() {}, nil
	}
	f, err := os.CreateTemp(dir, "env-") // of mode 0600
	if err != nil {
		return nil, func() {}, err
	}
	for _, variable := range env {
		if name, value, _ := strings.Cut(variable, "="); strings.ContainsAny(value, "\n\r\x00") {
			err = errors.Join(err, fmt.Errorf("variable %s has several lines, which the runtime's --env-file cannot hold: leave it out, or encode it", name))
		}
		_, failed := fmt.Fprintln(f, variable)
		err = errors.Join(err, failed)
	}
	return []string{"--env-file", f.Name()}, func() { os.Remove(f.Name()) }, errors.Join(err, f.Close())
}

func (c commands) Exec(ctx context.Context, name string, e Exec) (int, error) {
	words := []string{"exec"}
	if e.User != "" {
		words = append(words, "--user", e.User)
	}
	if e.Workdir != "" {
		words = append(words, "--workdir", e.Workdir)
	}
	file, remove, err := envFile(e.Dir, e.Env)
	defer remove()
	if err != nil {
		return 0, err
	}
	return exited(ctx, process.Program{Words: slices.Concat(c, words, file, []string{name}, e.Words),
		Stdout: e.Output, Stderr: cmp.Or(e.Errors, e.Output)})
}

// exited runs a program and returns its exit code.
func exited(ctx context.Context, p process.Program) (int, error) {
	err := p.Run(ctx)
	var exit *exec.ExitError
	if ctx.Err() == nil && errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (c commands) CopyIn(ctx context.Context, name, folder, to string) error {
	_, err := c.output(ctx, "cp", folder, name+":"+to)
	return err
}

func (c commands) CopyOut(ctx context.Context, name, from string, w io.Writer) error {
	return runQuoted(ctx, process.Program{Words: slices.Concat(c, []string{"cp", name + ":" + from, "-"}), Stdout: w})
}

// Stop kills the container's first program, and with it all others.
func (c commands) Stop(ctx context.Context, name string) error {
	_, err := c.output(ctx, "stop", name)
	return err
}

func (c commands) Again(ctx context.Context, name string) error {
	_, err := c.output(ctx, "start", name)
	return err
}

// Changed reads lines such as "C /etc/passwd". A line that is none is part of a name of
// several lines, which is there to hide something.
func (c commands) Changed(ctx context.Context, name string, to Changes) error {
	starts, err := c.output(ctx, "inspect", "--format", "{{.Config.Entrypoint}} {{.Config.Cmd}}", name)
	if err != nil {
		return err
	}
	to.Start(starts)
	read, write := io.Pipe()
	defer read.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		p := process.Program{Words: slices.Concat(c, []string{"diff", name}), Stdout: write}
		write.CloseWithError(runQuoted(ctx, p))
	}()
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		if kind, file, _ := strings.Cut(lines.Text(), " "); len(kind) == 1 && strings.HasPrefix(file, "/") {
			to.Add(kind[0], file)
		} else {
			to.Add('C', "/bin/sh")
		}
	}
	return lines.Err()
}

func (c commands) Origin(ctx context.Context, name string) (w formats.Workspace, folders []string, err error) {
	if w.Runtime = c[0]; len(c) > 1 || c[0] != "podman" && c[0] != "docker" {
		w.Runtime = "command"
	}
	w.ImageDigest, err = c.output(ctx, "inspect", "--format", "{{.Image}}", name)
	w.ImageDigest = "sha256:" + strings.TrimPrefix(w.ImageDigest, "sha256:")
	return w, []string{"/"}, err
}

func (c commands) Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := c.output(ctx, append([]string{"rm", "--force", "--volumes"}, names...)...)
	return err
}

// Labelled lists running and stopped containers, also those that are half removed, which
// `podman inspect` cannot tell. Podman prints labels as map[NAME:VALUE ...], and docker
// as NAME=VALUE,....
func (c commands) Labelled(ctx context.Context, label string) (map[string]string, error) {
	out, err := c.output(ctx, "ps", "--all", "--filter", "label="+label, "--format", "{{.Names}} {{.Labels}}")
	value, found := regexp.MustCompile(regexp.QuoteMeta(label)+`[:=]([^\s,\]]+)`), map[string]string{}
	for line := range strings.Lines(out) {
		name, labels, _ := strings.Cut(line, " ")
		if m := value.FindStringSubmatch(labels); m != nil {
			found[name] = m[1]
		}
	}
	return found, err
}

// output runs a command and returns the beginning of what it prints.
func (c commands) output(ctx context.Context, words ...string) (string, error) {
	out := &process.Head{Limit: Printed}
	err := runQuoted(ctx, process.Program{Words: slices.Concat(c, words), Stdout: out})
	return strings.TrimSpace(out.String()), err
}

// runQuoted runs a command, whose error has what it said.
func runQuoted(ctx context.Context, p process.Program) error {
	errs := process.NewTail(ctx, Quoted)
	p.Stderr = errs
	err := p.Run(ctx)
	if text := errs.String(); err != nil && text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// Bytes that are kept.
const (
	Quoted  = 4 << 10 // of a command's standard error, in an error
	Printed = 1 << 20 // of what a command prints
)
