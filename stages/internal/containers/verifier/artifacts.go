package verifier

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/stages/internal/containers"
)

const copiedBytes = 1 << 30 // read from the container for a path of the task

// kept are the files of an attempt that its row gets: those below /logs, what the task
// names, and what the verifier printed. The container made them: a link is not followed.
type kept struct{ harbor.Kept }

// Artifacts collects the files.
func (b *Box) Artifacts(ctx context.Context) []formats.Artifact {
	ctx, stop := context.WithTimeout(ctx, removeTime)
	defer stop()
	k := &kept{harbor.Kept{Left: harbor.MaxKeptBytes}}
	if b.Printed.Total > 0 {
		k.Add("/logs/verifier/test-stdout.txt", b.Printed.Total, strings.NewReader(b.Printed.String()))
	}
	for _, folder := range logs {
		if err := k.folder(ctx, filepath.Join(b.Dir, folder), "/logs/"+folder); err != nil {
			b.warn(err)
		}
	}
	for _, from := range b.Task.Artifacts {
		if err := b.copied(ctx, k, from); err != nil { // it may not be there
			b.warn(fmt.Errorf("artifact %s: %w", from, err))
		}
	}
	return k.List
}

// folder adds the files below a folder of this machine, until the list is full.
func (k *kept) folder(ctx context.Context, dir, name string) error {
	whole, err := containers.Walk(ctx, dir, func(file string, in *os.Root, e fs.DirEntry) error {
		if len(k.List) == harbor.MaxArtifacts {
			return fs.SkipAll
		}
		if !e.Type().IsRegular() {
			return nil
		}
		f, err := in.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			err = k.Add(path.Join(name, file), info.Size(), f)
		}
		return err
	})
	if err == nil && !whole {
		err = fmt.Errorf("%s has more files than are kept, or deeper ones", name)
	}
	return err
}

// archive reads what is at a path of the container, up to so many bytes, until it is stopped.
func (b *Box) archive(ctx context.Context, from string, limit int64) (_ *tar.Reader, stop func()) {
	read, write := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	go func() { write.CloseWithError(b.CopyOut(ctx, b.Name, from, write)) }()
	return tar.NewReader(io.LimitReader(read, limit)), func() { cancel(); read.Close() }
}

// copied adds what is at a path of the container: a file, or the files of a folder.
func (b *Box) copied(ctx context.Context, k *kept, from string) error {
	archive, stop := b.archive(ctx, from, copiedBytes)
	defer stop()
	for range containers.Visited {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) || len(k.List) == harbor.MaxArtifacts {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			_, below, _ := strings.Cut(path.Clean(h.Name), "/") // a link has the name of what it leads to
			if err := k.Add(path.Join(from, below), h.Size, archive); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("only %d of its files and folders were looked at", containers.Visited)
}
