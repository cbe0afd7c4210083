package workspaces

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/storage"
)

// Store makes a workspace durable until its row is in a part: first its archive, under its digest, then what it is,
// under its key. What a process that died has left of it is the same, and stays.
func Store(ctx context.Context, at journals.Place, w Workspace, archive io.Reader) error {
	if err := storeArchive(ctx, at, w, archive); err != nil {
		return err
	}
	text, _ := json.Marshal(w) // of texts and numbers
	if err := at.Bucket.Create(ctx, at.Folder+w.Key()+".json", text); !errors.Is(err, storage.ErrExist) {
		return err
	}
	return nil
}

func storeArchive(ctx context.Context, at journals.Place, w Workspace, archive io.Reader) error {
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
	_, err = io.Copy(out, archive)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err = draft.Create(ctx, key); !errors.Is(err, storage.ErrExist) {
		return err
	}
	return nil
}

func archiveKey(at journals.Place, w Workspace) string { return at.Folder + w.Digest + ".tar.zst" }

// Stored returns what was stored under a key, with the archive as it is compressed; nil if nothing was.
func Stored(ctx context.Context, at journals.Place, key string) (w Workspace, compressed io.ReadCloser, err error) {
	text, err := at.Bucket.ReadLimited(ctx, at.Folder+key+".json", 1<<20)
	if errors.Is(err, storage.ErrNotExist) {
		return w, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil || w.Digest == "" {
		return w, io.NopCloser(strings.NewReader("")), err
	}
	src, err := at.Bucket.Open(ctx, archiveKey(at, w))
	if err != nil {
		return w, nil, err
	}
	return w, struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(src, 0, src.Size()), src}, nil
}
