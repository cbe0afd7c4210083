// Package containers runs containers for tasks: with podman, docker or a program that takes
// their commands, or with bubblewrap (Runtime), no more at once than this machine has room
// for (Machine). Containers carry the label of the process that started them; one that was
// killed leaves them to the next that opens a Machine.
package containers

import (
	"context"
	"io"

	"github.com/rollmill/rollmill/formats"
)

// Runtime runs containers.
type Runtime interface {
	// Found says which runtime is there, or what is missing.
	Found(ctx context.Context) (string, error)
	// Image brings an image that is not there: of a folder with a Dockerfile, "" for its registry.
	Image(ctx context.Context, image, folder string) error
	// Start starts a container that does nothing until it is removed.
	Start(ctx context.Context, c Container) error
	// Exec runs a program in a container and returns its exit code. When ctx ends, it
	// returns, and the program lives on until the container is removed.
	Exec(ctx context.Context, name string, e Exec) (code int, err error)
	// CopyIn copies a folder of this machine to a path that is not there yet.
	CopyIn(ctx context.Context, name, folder, to string) error
	// CopyOut writes what is at a path of the container as a tar archive.
	CopyOut(ctx context.Context, name, from string, w io.Writer) error
	// Stop ends everything that runs in a container, and keeps its files.
	Stop(ctx context.Context, name string) error
	// Again starts what the image starts, in a container that was stopped.
	Again(ctx context.Context, name string) error
	// Changed tells where a container's files are not the image's.
	Changed(ctx context.Context, name string, to Changes) error
	// Origin says which kind of runtime made a container, of which image, and which folders hold the files of its own.
	Origin(ctx context.Context, name string) (w formats.Workspace, folders []string, err error)
	// Remove removes containers, whatever runs in them, and forgets those that are gone.
	Remove(ctx context.Context, names ...string) error
	// Labelled returns the containers that have a label, and its value, which has
	// neither spaces nor commas.
	Labelled(ctx context.Context, label string) (map[string]string, error)
}

// Container is a container to start.
type Container struct {
	Name, Image string
	Labels      map[string]string
	Dir         string // of this machine, where the runtime's program runs, and for files that only it reads
	Mounts      []Mount
	Env         []string // NAME=VALUE
	Workdir     string   // "": the image's
	CPUs        float64  // 0: no limit
	MemoryMB    int64    // 0: no limit
	FileMB      int64    // of one file; 0: no limit
	Processes   int
	NoNetwork   bool
	Network     bool // the task says that it may use one
}

// Changes takes where a container's files are not the image's, a folder before what is in it.
type Changes interface {
	Start(words string)         // what the image starts
	Add(kind byte, file string) // a path that was added (A), changed (C) or deleted (D)
}

// Mount is a file or folder of this machine that the container sees.
type Mount struct {
	From, To string
	ReadOnly bool
}

// Exec is a program to run in a container.
type Exec struct {
	Words   []string
	Env     []string // NAME=VALUE
	User    string   // "": the container's
	Workdir string   // "": the container's
	Dir     string   // of this machine, for files that only the runtime reads
	Output  io.Writer
	Errors  io.Writer // standard error; nil: it goes to Output
}
