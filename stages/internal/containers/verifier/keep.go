package verifier

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/workspace"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/process"
)

// Keeper makes an attempt's workspace durable. Nothing can be read from archive if w has no digest.
type Keeper func(ctx context.Context, w formats.Workspace, archive io.Reader) error

const (
	listFile = "workspace.list"
	packTime = 10 * time.Minute
)

// relay runs this program's own binary in the container, as root.
func (b *Box) relay(ctx context.Context, out io.Writer, words ...string) error {
	tail := process.NewTail(ctx, containers.Quoted)
	code, err := b.Exec(ctx, packTime, containers.Exec{Words: append([]string{RelayPath, workspace.Command}, words...), User: "0",
		Output: out, Errors: tail})
	if err == nil && code != 0 {
		err = errors.New(tail.String())
	}
	return err
}

// List notes what the container holds before anybody works there. If it cannot, Pack says so.
func (b *Box) List(ctx context.Context) {
	kind, image, folders, err := b.Origin(ctx, b.Name)
	b.origin = formats.Workspace{Runtime: kind, ImageDigest: image}
	for _, folder := range logs {
		folders = append(folders, "/logs/"+folder)
	}
	for i := range folders {
		folders[i] = path.Clean(folders[i])
	}
	b.folders = slices.Sorted(slices.Values(folders))
	f, failed := os.Create(filepath.Join(b.Dir, "run", listFile))
	if err = errors.Join(err, failed); err == nil {
		err = b.relay(ctx, f, append([]string{"list"}, b.folders...)...)
		err = errors.Join(err, f.Close(), os.Chmod(f.Name(), 0o644))
	}
	b.unlisted = err
}

// Pack keeps what changed since List, and returns its key. What keeps it from that is a reason in the workspace;
// only files of this machine and the keeper are errors.
func (b *Box) Pack(ctx context.Context, left []string, keep Keeper) (key string, err error) {
	w := b.origin
	if b.blind {
		left = []string{"it is not known which"}
	}
	for _, name := range slices.Compact(left) {
		w.LeftOut = append(w.LeftOut, secret.From(ctx).Redact(workspace.Running+name))
	}
	spool, err := os.CreateTemp(b.Dir, "workspace-")
	if err != nil {
		return "", err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	read, write := io.Pipe()
	go func() {
		err := b.unlisted
		if err == nil {
			err = b.relay(ctx, write, append([]string{"pack", path.Join(workspace.Own, listFile)}, b.folders...)...)
		}
		write.CloseWithError(err)
	}()
	w, err = workspace.Receive(read, secret.From(ctx), spool, w)
	read.Close()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = keep(ctx, w, spool)
	}
	return w.Key(), err
}
