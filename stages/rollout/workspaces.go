package rollout

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

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
	older   []*workspaces.Dataset // of the dataset that is extended, and of the one that is replaced
	written map[string]bool       // digests of archives
	size    int                   // bytes of the row group
}

// newKept begins the table if attempts keep workspaces, or those of the dataset that is extended did.
func (o Options) newKept(ctx context.Context, shard *shards.Shard, extended, before *dataset.Dataset) (*kept, error) {
	k := &kept{at: shard.Workspaces(), written: map[string]bool{}}
	for _, d := range []*dataset.Dataset{extended, before} {
		if d == nil || d.Tables[schema.TableWorkspaces].Rows == 0 || d.Removed(schema.TableWorkspaces) && !o.KeepWorkspace {
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

// add writes the workspaces that rows name.
func (k *kept) add(ctx context.Context, rows []formats.Trajectory) error {
	for i := range rows {
		key := workspaces.KeyOf(rows[i].Metadata)
		if k == nil || key == "" {
			continue
		}
		w, compressed, err := k.find(ctx, rows[i].TrajectoryID, key)
		if err == nil {
			w.TrajectoryID = rows[i].TrajectoryID
			err = errors.Join(k.write(ctx, w, compressed), compressed.Close())
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fault.Invalid(k.at.Bucket.URI(), "make the attempt again: --overwrite", err,
				"the workspace of trajectory %q is gone", rows[i].TrajectoryID)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// find returns the workspace of a row that was carried over, or of one that was made now.
func (k *kept) find(ctx context.Context, id, key string) (w formats.Workspace, compressed io.ReadCloser, err error) {
	for _, s := range k.older {
		if w, has := s.Of(id); has && w.Key() == key {
			return w, s.Compressed(ctx, w.Digest), nil
		}
	}
	return workspaces.Stored(ctx, k.at, key)
}

// write writes a workspace in pieces; of an archive that is there already, only what it is.
func (k *kept) write(ctx context.Context, w formats.Workspace, compressed io.Reader) error {
	if k.written[w.Digest] {
		compressed = strings.NewReader("")
	}
	row, piece := formats.WorkspacePiece{Workspace: w}, make([]byte, pieceBytes)
	for {
		n, end := io.ReadFull(compressed, piece)
		var err error
		if row.Bytes = base64.StdEncoding.EncodeToString(piece[:n]); n > 0 || row.Piece == 0 {
			err = k.table.Write(ctx, []formats.WorkspacePiece{row})
		}
		if k.size += n; k.size >= pieceBytes && err == nil {
			k.size, err = 0, k.table.EndRowGroup()
		}
		if err != nil || end != nil {
			k.written[w.Digest] = true
			if errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF) {
				end = nil
			}
			return cmp.Or(err, end)
		}
		row.Workspace = formats.Workspace{TrajectoryID: w.TrajectoryID, Piece: row.Piece + 1, Digest: w.Digest}
	}
}
