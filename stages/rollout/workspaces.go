package rollout

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// pieceBytes is the size of a piece before it is base64: 4 MiB then.
const pieceBytes = 3 << 20

// keepWorkspace makes a workspace durable: first its archive, under its digest, then what the row names by its
// key. What a process that died has left of it is the same, and stays.
func (r *runner) keepWorkspace(ctx context.Context, w formats.Workspace, archive io.Reader) error {
	at := r.shard.Workspaces()
	err := storeArchive(ctx, at, w, archive)
	if err == nil {
		text, _ := json.Marshal(w) // of texts and numbers
		if err = at.Bucket.Create(ctx, at.Folder+w.Key()+".json", text); errors.Is(err, storage.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		r.stop(fmt.Errorf("rollout: keeping a workspace: %w", err))
	}
	return err
}

func storeArchive(ctx context.Context, at journals.Place, w formats.Workspace, archive io.Reader) error {
	key := archiveKey(at, w)
	if w.Digest == "" {
		return nil
	}
	if _, err := at.Bucket.Stat(ctx, key); !errors.Is(err, storage.ErrNotExist) {
		return err
	}
	draft, err := at.Bucket.Draft(ctx)
	if err != nil {
		return err
	}
	defer draft.Discard()
	out, err := zstd.NewWriter(draft, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, archive); errors.Join(err, out.Close()) != nil {
		return err
	}
	if err = draft.Create(ctx, key); errors.Is(err, storage.ErrExist) {
		err = nil
	}
	return err
}

func archiveKey(at journals.Place, w formats.Workspace) string {
	return at.Folder + w.Digest + ".tar.zst"
}

// kept writes the table of workspaces. A nil one writes nothing.
type kept struct {
	table   *shards.TableWriter[formats.WorkspacePiece]
	at      journals.Place
	older   []*workspaces.Dataset // of the dataset that is extended, then of the one that is replaced
	written map[string]bool       // digests of archives
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
	var w formats.Workspace
	text, err := k.at.Bucket.ReadLimited(ctx, k.at.Folder+key+".json", 1<<20)
	if errors.Is(err, storage.ErrNotExist) { // the row was carried over
		return k.copy(ctx, t.TrajectoryID)
	}
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil || w.Digest == "" {
		return errors.Join(err, k.write(ctx, t.TrajectoryID, w, nil))
	}
	src, err := k.at.Bucket.Open(ctx, archiveKey(k.at, w))
	if err != nil {
		return err
	}
	defer src.Close()
	return k.write(ctx, t.TrajectoryID, w, io.NewSectionReader(src, 0, src.Size()))
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
		if n > 0 || row.Piece == 0 {
			row.Bytes = base64.StdEncoding.EncodeToString(piece[:n])
			if err := k.table.Write(ctx, []formats.WorkspacePiece{row}); err != nil {
				return err
			}
		}
		if n < len(piece) {
			k.written[w.Digest] = true
			return nil
		}
		row.Workspace = formats.Workspace{TrajectoryID: id, Piece: row.Piece + 1, Digest: w.Digest}
	}
}
