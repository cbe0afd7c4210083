package rollout

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// pieceBytes is the size of a piece before it is base64, 4 MiB then, and about that of a row group, which is in memory.
const pieceBytes = 3 << 20

// keepWorkspace makes a workspace durable.
func (r *runner) keepWorkspace(ctx context.Context, w formats.Workspace, archive io.Reader) error {
	err := workspaces.Store(ctx, r.shard.Workspaces(), w, archive)
	if err != nil {
		r.stop(fmt.Errorf("rollout: keeping a workspace: %w", err))
	}
	return err
}

// kept writes the table of workspaces. A nil one writes nothing.
type kept struct {
	table   *shards.TableWriter[formats.WorkspacePiece]
	at      journals.Place
	older   []*workspaces.Dataset // of the dataset that is extended, then of the one that is replaced
	written map[string]bool       // digests of archives
	size    int                   // bytes of the row group
}

// newKept begins the table if attempts keep workspaces, or those of the dataset that is extended did.
func (o Options) newKept(ctx context.Context, shard *shards.Shard, extended, before *dataset.Dataset) (*kept, error) {
	k := &kept{at: shard.Workspaces(), written: map[string]bool{}}
	for _, d := range []*dataset.Dataset{extended, before} {
		if d == nil || d.Tables[schema.TableWorkspaces].Rows == 0 || d.Removed(schema.TableWorkspaces) {
			continue
		}
		s, err := workspaces.Open(ctx, d)
		if err != nil {
			return nil, err
		}
		k.older = append(k.older, s)
	}
	if !o.KeepWorkspace && len(k.older) == 0 {
		return nil, nil
	}
	k.table = shards.NewTable[formats.WorkspacePiece](shard, schema.TableWorkspaces, -1)
	return k, nil
}

// add writes the workspace that a new row names.
func (k *kept) add(ctx context.Context, t *formats.Trajectory) error {
	key := workspaces.KeyOf(t.Metadata)
	if k == nil || key == "" {
		return nil
	}
	w, archive, err := workspaces.Stored(ctx, k.at, key)
	if err != nil {
		return err
	}
	if archive == nil { // the row was carried over
		if !k.has(t.TrajectoryID) {
			return fault.Invalid(k.at.Bucket.URI(), "make the attempt again: --overwrite", nil,
				"the workspace of trajectory %q is gone", t.TrajectoryID)
		}
		return k.copy(ctx, t.TrajectoryID)
	}
	defer archive.Close()
	return k.write(ctx, t.TrajectoryID, w, archive)
}

func (k *kept) has(id string) bool {
	return slices.ContainsFunc(k.older, func(s *workspaces.Dataset) bool { _, ok := s.Of(id); return ok })
}

// copy writes the workspace that an older row has, if it has one.
func (k *kept) copy(ctx context.Context, id string) error {
	if k == nil {
		return nil
	}
	for _, s := range k.older {
		if w, ok := s.Of(id); ok {
			src := s.Compressed(ctx, w.Digest)
			defer src.Close()
			return k.write(ctx, id, w, src)
		}
	}
	return nil
}

// write writes a workspace in pieces; of an archive that is there already, only what it is.
func (k *kept) write(ctx context.Context, id string, w formats.Workspace, archive io.Reader) error {
	row := formats.WorkspacePiece{Workspace: w}
	row.TrajectoryID = id
	piece := make([]byte, pieceBytes)
	for {
		n := 0
		var err error
		if w.Digest != "" && !k.written[w.Digest] {
			n, err = io.ReadFull(archive, piece)
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && (!errors.Is(err, io.EOF) || row.Piece == 0) {
			return fault.Invalid(k.at.Bucket.URI(), "", err, "the workspace of trajectory %q cannot be read", id)
		}
		row.Bytes, err = base64.StdEncoding.EncodeToString(piece[:n]), nil
		if n > 0 || row.Piece == 0 {
			err = k.table.Write(ctx, []formats.WorkspacePiece{row})
		}
		if k.size += n; k.size >= pieceBytes && err == nil {
			k.size, err = 0, k.table.EndRowGroup()
		}
		if n < len(piece) || err != nil {
			k.written[w.Digest] = true
			return err
		}
		row.Workspace = formats.Workspace{TrajectoryID: id, Piece: row.Piece + 1, Digest: w.Digest}
	}
}
