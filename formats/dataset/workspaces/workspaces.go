// Package workspaces reads what attempts changed in their containers: the side table _workspaces of a rollout
// that was made with --keep-workspace. Nothing that
// hands a dataset on, such as an export or curate, reads this table.
package workspaces

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Workspace says what an attempt left in its container, and what of it was kept. Its columns are those of
// formats.WorkspacePiece.
type Workspace struct {
	TrajectoryID string   `parquet:"trajectory_id" json:"-"`
	Piece        int32    `parquet:"piece,delta" json:"-"`
	Runtime      string   `parquet:"runtime,optional,dict" json:"runtime"`           // podman, docker, bwrap or command
	ImageDigest  string   `parquet:"image_digest,optional,dict" json:"image_digest"` // the image's id; "": the runtime has no images
	Digest       string   `parquet:"digest,optional,dict" json:"digest"`             // hex SHA-256 of the archive; "": none was kept
	Size         int64    `parquet:"size,delta" json:"size"`                         // bytes of the archive
	Paths        int64    `parquet:"paths,delta" json:"paths"`                       // that it adds, changes or removes
	LeftOut      []string `parquet:"left_out,list" json:"left_out"`                  // in words, sorted; empty: nothing is known to be missing
}

// Key is the digest of all of it but the trajectory: a row's metadata names its workspace by it.
func (w Workspace) Key() string {
	text, _ := json.Marshal(w) // of texts and numbers
	return manifest.ShortSum(text, sha256.Size)
}

// Row is the first row of a trajectory, with the first piece.
func (w Workspace) Row(bytes string) formats.WorkspacePiece {
	return formats.WorkspacePiece{TrajectoryID: w.TrajectoryID, Bytes: bytes, Runtime: w.Runtime, ImageDigest: w.ImageDigest, Digest: w.Digest,
		Size: w.Size, Paths: w.Paths, LeftOut: w.LeftOut}
}

// Running is before the name of a program in LeftOut that ran when the attempt ended.
const Running = "a process that was running: "

// KeyName is the name of Workspace.Key among a row's metadata.
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
	byID     map[string]Workspace
	archives map[string]dataset.Range // rows, by digest
}

// Open reads what the dataset says of its workspaces, not the archives. A dataset without them, or whose
// workspaces were removed, is an error with a hint.
func Open(ctx context.Context, d *dataset.Dataset) (*Dataset, error) {
	if _, has := d.Tables[schema.TableWorkspaces]; !has {
		return nil, fault.Invalid(d.URI(), "make it with rollout --keep-workspace", nil, "its attempts' workspaces were not kept")
	}
	s := &Dataset{d: d, byID: map[string]Workspace{}, archives: map[string]dataset.Range{}}
	at, first := int64(-1), int64(0)
	var last Workspace
	for w, err := range dataset.Each[Workspace](ctx, d, schema.TableWorkspaces, d.AllOf(schema.TableWorkspaces)) {
		if err != nil {
			return nil, err
		}
		at++
		_, twice := s.byID[w.TrajectoryID]
		r, known := s.archives[w.Digest]
		switch {
		case w.Piece == 0 && !twice:
			s.byID[w.TrajectoryID], last, first = *w, *w, at
			if w.Digest != "" && !known {
				s.archives[w.Digest] = dataset.Range{First: at, Rows: 1}
			}
		case w.Piece == 0 || w.TrajectoryID != last.TrajectoryID || w.Digest != last.Digest || int64(w.Piece) != at-first:
			return nil, fault.Invalid(d.URI(), "", nil, "table %s: piece %d of trajectory %q is not in its place", schema.TableWorkspaces,
				w.Piece, w.TrajectoryID).InRow(at)
		case r.First == first: // else it is of another shard, which has the same archive
			s.archives[w.Digest] = dataset.Range{First: first, Rows: int64(w.Piece) + 1}
		}
	}
	return s, nil
}

// Of returns the workspace of a trajectory, and whether it has one: an attempt that ended before its tests has none.
func (s *Dataset) Of(trajectoryID string) (Workspace, bool) {
	w, ok := s.byID[trajectoryID]
	return w, ok
}

// Each calls f with the pieces of an archive in order, base64 as in the table; none for one that was not kept.
func (s *Dataset) Each(ctx context.Context, digest string, f func(bytes string) error) error {
	rows, ok := s.archives[digest]
	if !ok {
		return nil
	}
	r, err := dataset.NewReader[formats.WorkspacePiece](ctx, s.d, schema.TableWorkspaces, rows)
	if err != nil {
		return err
	}
	defer r.Close()
	for range rows.Rows {
		row, err := r.Take(1)
		if err == nil {
			err = f(row[0].Bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Archive reads an archive that was kept. Its end is an error, not io.EOF, if it is not the one that was kept.
func (s *Dataset) Archive(ctx context.Context, w Workspace) io.ReadCloser {
	ctx, stop := context.WithCancel(ctx)
	read, write := io.Pipe()
	go func() {
		err := s.Each(ctx, w.Digest, func(text string) error {
			piece, err := base64.StdEncoding.DecodeString(text)
			if err == nil {
				_, err = write.Write(piece)
			}
			return err
		})
		write.CloseWithError(err)
	}()
	a := &archive{s: s, w: w, sum: sha256.New(), pipe: read, stop: stop}
	a.tar, a.err = zstd.NewReader(read, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(16<<20))
	return a
}

type archive struct {
	s    *Dataset
	w    Workspace
	tar  *zstd.Decoder
	sum  hash.Hash
	size int64
	err  error
	pipe *io.PipeReader
	stop context.CancelFunc
}

func (a *archive) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.tar.Read(p)
	a.sum.Write(p[:n])
	a.size += int64(n)
	switch ended := errors.Is(err, io.EOF); {
	case err != nil && !ended:
		a.err = a.wrong(err)
	case a.size > a.w.Size || ended && (a.size != a.w.Size || hex.EncodeToString(a.sum.Sum(nil)) != a.w.Digest):
		a.err = a.wrong(fmt.Errorf("it has %d bytes and not digest %s", a.size, a.w.Digest))
	case ended:
		a.err = io.EOF
	}
	return n, a.err
}

func (a *archive) wrong(err error) error {
	return fault.Invalid(a.s.d.URI(), "", err, "the workspace of trajectory %q is damaged", a.w.TrajectoryID)
}

// Close may be called at any time.
func (a *archive) Close() error {
	a.stop()
	a.pipe.Close()
	if a.tar != nil {
		a.tar.Close()
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
	seen := map[string]bool{}
	for _, w := range s.byID {
		if w.Digest != "" && !seen[w.Digest] {
			a := s.Archive(ctx, w)
			_, err := io.Copy(io.Discard, a)
			if a.Close(); err != nil {
				return err
			}
			seen[w.Digest] = true
		}
	}
	type row struct {
		TrajectoryID string `parquet:"trajectory_id"`
		Metadata     string `parquet:"metadata,optional"`
	}
	left := len(s.byID)
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
	}
	if left > 0 {
		return fault.Invalid(d.URI(), "", nil, "table %s has trajectories without a row: %d", schema.TableWorkspaces, left)
	}
	return nil
}
