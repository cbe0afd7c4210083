package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/internal/process"
)

// bwrap is the runtime of tasks without an image: a program sees this machine's system
// folders, unchangeable, and folders of its own. It has no network; the relay is on its own
// loopback address. A program that it leaves running ends with it, and nothing limits
// memory or processors.
type bwrap struct {
	dir   string // of the containers' folders
	mu    sync.Mutex
	boxes map[string]cell
}

// cell is a container, and what its programs left running.
type cell struct {
	Container
	ended Processes
}

// defaultWorkdir is where programs work when the task names no folder.
const defaultWorkdir = "/app"

// searched is PATH in the container.
const searched = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// system are the folders and files of this machine that programs see. Of /etc, they are
// those without which programs do not start.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/ssl/certs"}

// etc returns the files of /etc that say who and where programs are.
func etc() map[string]string {
	id, group := os.Getuid(), os.Getgid()
	return map[string]string{
		"passwd":        fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\nuser:x:%d:%d:user:/root:/bin/sh\n", id, group),
		"group":         fmt.Sprintf("root:x:0:\nuser:x:%d:\n", group),
		"hosts":         "127.0.0.1 localhost task\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	}
}

func (b *bwrap) Found(ctx context.Context) (string, error) {
	return commands{"bwrap"}.Found(ctx)
}

func (b *bwrap) Image(_ context.Context, image, _ string) error {
	if image != "" {
		return errors.New("runtime bwrap has no images: it runs tasks that have none")
	}
	return nil
}

func (b *bwrap) Start(_ context.Context, c Container) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Workdir == "" {
		c.Workdir = defaultWorkdir
	}
	if c.Network {
		return errors.New(`the task asks for the internet, and runtime bwrap has no network: use podman or docker, or write network_mode = "no-network"`)
	}
	files := filepath.Join(b.dir, c.Name, "etc")
	if err := os.MkdirAll(files, 0o777); err != nil {
		return err
	}
	for name, text := range etc() {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, to := range []string{c.Workdir, "/tmp", "/root"} {
		from := filepath.Join(b.dir, c.Name, "own", to)
		if err := os.MkdirAll(from, 0o777); err != nil {
			return err
		}
		c.Mounts = append(c.Mounts, Mount{From: from, To: to})
	}
	b.boxes[c.Name] = cell{c, Processes{}}
	return nil
}

func (b *bwrap) box(name string) (cell, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.boxes[name]
	if !ok {
		return c, fmt.Errorf("no container %q", name)
	}
	return c, nil
}

// Exec runs the program in namespaces of its own.
func (b *bwrap) Exec(ctx context.Context, name string, e Exec) (int, error) {
	c, err := b.box(name)
	if err != nil {
		return 0, err
	}
	left, err := unnamed(e.Dir, nil)
	if err != nil {
		return 0, err
	}
	defer left.Close()
	e.Words = append([]string{"sh", "-c", leaves, "sh"}, e.Words...)
	code, err := b.exec(ctx, c.Container, e, left)
	if err == nil {
		_, err = left.Seek(0, io.SeekStart)
		b.note(name, left)
	}
	return code, err
}

func (b *bwrap) exec(ctx context.Context, c Container, e Exec, files ...*os.File) (int, error) {
	words := []string{"--unshare-all", "--cap-drop", "ALL", "--hostname", "task",
		"--die-with-parent", "--new-session", "--dev", "/dev", "--proc", "/proc", "--chdir", c.Workdir,
		"--setenv", "HOME", "/root", "--setenv", "PATH", searched}
	for _, folder := range system {
		words = append(words, "--ro-bind-try", folder, folder)
	}
	for _, name := range slices.Sorted(maps.Keys(etc())) {
		words = append(words, "--ro-bind", filepath.Join(b.dir, c.Name, "etc", name), "/etc/"+name)
	}
	for _, m := range c.Mounts {
		words = append(words, map[bool]string{true: "--ro-bind", false: "--bind"}[m.ReadOnly], m.From, m.To)
	}
	for _, variable := range slices.Concat(c.Env, e.Env) {
		name, value, _ := strings.Cut(variable, "=")
		words = append(words, "--setenv", name, value)
	}
	if slices.ContainsFunc(words, func(o string) bool { return strings.Contains(o, "\x00") }) { // more options
		return 0, errors.New("a folder or the value of a variable has the character NUL")
	}
	options, err := unnamed(e.Dir, []byte(strings.Join(words, "\x00")+"\x00"))
	if err != nil {
		return 0, err
	}
	defer options.Close()
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return 0, err
	}
	// It is the first process that programs see, with the variables that it was started with.
	return exited(ctx, process.Program{Words: append([]string{"env", "-i", program, "--args", "3", "--"}, e.Words...),
		Files: append([]*os.File{options}, files...), Stdout: e.Output, Stderr: cmp.Or(e.Errors, e.Output)})
}

// unnamed returns a file without a name that holds text: options hold the values of
// variables, and everyone here may read a program's words.
func unnamed(dir string, text []byte) (*os.File, error) {
	f, err := os.CreateTemp(dir, "bwrap-")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, os.Remove(f.Name())); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
	}
	return f, err
}

// CopyIn copies the folder to one that the programs see from then on.
func (b *bwrap) CopyIn(_ context.Context, name, folder, to string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.boxes[name]
	from := filepath.Join(b.dir, name, "copied", to)
	c.Mounts = append(c.Mounts[:len(c.Mounts):len(c.Mounts)], Mount{From: from, To: to})
	b.boxes[name] = c
	return os.CopyFS(from, os.DirFS(folder))
}

// CopyOut archives with the machine's tar, without the task's variables.
func (b *bwrap) CopyOut(ctx context.Context, name, from string, w io.Writer) error {
	words := []string{"sh", "-c", `exec tar -C "$1" -cf - -- "$2" 2>/dev/null`, "sh", path.Dir(from), path.Base(from)}
	c, err := b.box(name)
	if err != nil {
		return err
	}
	c.Env = nil
	code, err := b.exec(ctx, c.Container, Exec{Words: words, Output: w})
	if err == nil && code != 0 {
		err = fmt.Errorf("tar ended with %d", code)
	}
	return err
}

func (b *bwrap) Origin(_ context.Context, name string) (w formats.Workspace, folders []string, err error) {
	c, err := b.box(name)
	return formats.Workspace{Runtime: "bwrap"}, []string{path.Clean(c.Workdir), "/root", "/tmp"}, err
}

func (b *bwrap) Remove(_ context.Context, names ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		delete(b.boxes, name)
		if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Stop has nothing to end: a program's end ended what it left.
func (b *bwrap) Stop(context.Context, string) error { return nil }

// Again has nothing to start.
func (b *bwrap) Again(context.Context, string) error { return nil }

// Changed takes all files in the container's own folders for added ones.
func (b *bwrap) Changed(ctx context.Context, name string, to Changes) error {
	whole, err := Walk(ctx, filepath.Join(b.dir, name, "own"), func(file string, _ *os.Root, _ fs.DirEntry) error {
		to.Add('A', "/"+file)
		return nil
	})
	if err == nil && !whole {
		err = errors.New("there are too many files to look at")
	}
	return err
}

// Labelled finds none: what a dead process left is in its folder.
func (b *bwrap) Labelled(context.Context, string) (map[string]string, error) { return nil, nil }
