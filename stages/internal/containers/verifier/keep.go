package verifier

import (
	"cmp"
	"context"
	"fmt"
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
	listFile  = "workspace.list"
	relayTime = 10 * time.Minute
)

// relay runs this program's own binary in the container, as root.
func (b *Box) relay(ctx context.Context, out io.Writer, words ...string) error {
	said := process.NewTail(ctx, containers.Quoted)
	code, err := b.Exec(ctx, relayTime, containers.Exec{Words: append([]string{RelayPath, workspace.Command}, words...), User: "0",
		Output: out, Errors: said})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, said)
	}
	return err
}

// List notes what the container holds before anybody works there. If it cannot, Pack says so.
func (b *Box) List(ctx context.Context) {
	b.origin, b.folders, b.unlisted = b.Origin(ctx, b.Name)
	for _, folder := range logs {
		b.folders = append(b.folders, "/logs/"+folder)
	}
	slices.Sort(b.folders)
	f, err := os.Create(filepath.Join(b.Dir, "run", listFile))
	if b.unlisted = cmp.Or(b.unlisted, err); b.unlisted == nil {
		err = b.relay(ctx, f, append([]string{"list"}, b.folders...)...)
		b.unlisted = cmp.Or(err, f.Close(), os.Chmod(f.Name(), 0o644))
	}
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

// Restore puts what an attempt left into a fresh container, and starts what the image starts
// again, as after the attempt: a service of the image finds the restored files. Size and paths
// are how much the archive says that it holds.
func (b *Box) Restore(ctx context.Context, archive io.Reader, size, paths int64) error {
	const name = "workspace.tar"
	file := filepath.Join(b.Dir, "run", name)
	defer os.Remove(file) // before the tests run
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, archive)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = b.relay(ctx, io.Discard, "restore", path.Join(workspace.Own, name), fmt.Sprint(size), fmt.Sprint(paths))
	}
	if err == nil {
		err = b.Stop(ctx, b.Name)
	}
	if err != nil {
		return err
	}
	return b.Again(ctx, b.Name)
}
