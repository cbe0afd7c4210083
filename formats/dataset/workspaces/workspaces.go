// Package workspaces reads what attempts changed in their containers: the side table _workspaces of a rollout
// that was made with --keep-workspace. Nothing that hands a dataset on, such as an export or curate, reads it.
package workspaces

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// KeyName is the name of Workspace.Key in a row's metadata.
const KeyName = "workspace_digest"

// KeyOf returns the key of a row's workspace, "" if it has none.
func KeyOf(metadata string) string {
	var m map[string]any
	_ = json.Unmarshal([]byte(metadata), &m) // what is no object names none
	key, _ := m[KeyName].(string)
	return key
}

// Dataset is the workspaces of a dataset. It is safe for concurrent use.
type Dataset struct {
	d        *dataset.Dataset
	byID     map[string]formats.Workspace
	archives map[string]dataset.Range // rows, by digest
}

// Open reads what the dataset says of its workspaces, not the archives. A dataset without them, or whose
// workspaces were removed, is an error with a hint.
func Open(ctx context.Context, d *dataset.Dataset) (*Dataset, error) {
	if _, has := d.Tables[schema.TableWorkspaces]; !has {
		return nil, fault.Invalid(d.URI(), "make it with rollout --keep-workspace", nil, "its attempts' workspaces were not kept")
	}
	s := &Dataset{d: d, byID: map[string]formats.Workspace{}, archives: map[string]dataset.Range{}}
	at, first := int64(0), int64(0)
	for w, err := range dataset.Each[formats.Workspace](ctx, d, schema.TableWorkspaces, d.AllOf(schema.TableWorkspaces)) {
		if err != nil {
			return nil, err
		}
		if w.Piece == 0 {
			s.byID[w.TrajectoryID], first = *w, at
		}
		if r, known := s.archives[w.Digest]; !known || r.First == first { // else another shard has it, too
			s.archives[w.Digest] = dataset.Range{First: first, Rows: at - first + 1}
		}
		at++
	}
	return s, nil
}

// Of returns the workspace of a trajectory, and whether it has one: an attempt that ended before its tests has none.
func (s *Dataset) Of(trajectoryID string) (formats.Workspace, bool) {
	w, ok := s.byID[trajectoryID]
	return w, ok
}

// Archive reads an archive that was kept. Its end is an error, not io.EOF, if it is not the one that was kept.
func (s *Dataset) Archive(ctx context.Context, w formats.Workspace) io.ReadCloser {
	read, write := io.Pipe()
	go func() {
		err := s.copy(ctx, w, write)
		if err != nil {
			err = fault.Invalid(s.d.URI(), "", err, "the workspace of trajectory %q cannot be read", w.TrajectoryID)
		}
		write.CloseWithError(err)
	}()
	return read
}

func (s *Dataset) copy(ctx context.Context, w formats.Workspace, to io.Writer) error {
	compressed := s.Compressed(ctx, w.Digest)
	defer compressed.Close()
	archive, err := zstd.NewReader(compressed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(16<<20))
	if err != nil {
		return err
	}
	defer archive.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(archive, w.Size+1))
	if err == nil && (n != w.Size || hex.EncodeToString(sum.Sum(nil)) != w.Digest) {
		err = fmt.Errorf("the archive of %d bytes is not the one that was kept", n)
	}
	return err
}

// Compressed reads an archive as it is stored; "" is empty.
func (s *Dataset) Compressed(ctx context.Context, digest string) io.ReadCloser {
	read, write := io.Pipe()
	go func() { write.CloseWithError(s.pieces(ctx, digest, write)) }()
	return read
}

func (s *Dataset) pieces(ctx context.Context, digest string, to io.Writer) error {
	r, err := dataset.NewReader[formats.WorkspacePiece](ctx, s.d, schema.TableWorkspaces, s.archives[digest])
	if err != nil {
		return err
	}
	for row, err := range r.Each(1) { // it has megabytes
		if err != nil {
			return err
		}
		piece, err := base64.StdEncoding.DecodeString(row.Bytes)
		if err == nil {
			_, err = to.Write(piece)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Check reads all archives, and compares the workspaces with those that the rows name.
func Check(ctx context.Context, d *dataset.Dataset) error {
	if _, has := d.Tables[schema.TableWorkspaces]; !has || d.Removed(schema.TableWorkspaces) {
		return nil
	}
	s, err := Open(ctx, d)
	if err != nil {
		return err
	}
	left, seen := len(s.byID), map[string]bool{"": true}
	type row struct {
		TrajectoryID string `parquet:"trajectory_id"`
		Metadata     string `parquet:"metadata,optional"`
	}
	for r, err := range dataset.Each[row](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		w, has := s.Of(r.TrajectoryID)
		if key := KeyOf(r.Metadata); has != (key != "") || has && key != w.Key() {
			return fault.Invalid(d.URI(), "", nil, "the workspace of trajectory %q is not the one that its row names", r.TrajectoryID)
		}
		if has {
			left--
		}
		if !seen[w.Digest] {
			seen[w.Digest] = true
			if _, err := io.Copy(io.Discard, s.Archive(ctx, w)); err != nil {
				return err
			}
		}
	}
	if left > 0 {
		return fault.Invalid(d.URI(), "", nil, "table %s has trajectories without a row: %d", schema.TableWorkspaces, left)
	}
	return nil
}
