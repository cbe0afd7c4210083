package workspaces

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage"
)

// Store makes a workspace durable until its row is in a part: what it is, in a line of JSON, and the compressed
// archive, in an object with its key. What a process that died has left of it is the same, and stays.
func Store(ctx context.Context, at journals.Place, w formats.Workspace, archive io.Reader) error {
	draft, err := at.Bucket.Draft(ctx)
	if err != nil {
		return err
	}
	defer draft.Discard()
	if err = json.NewEncoder(draft).Encode(w); err == nil && w.Digest != "" {
		err = compress(draft, archive)
	}
	if err == nil {
		err = draft.Create(ctx, at.Folder+w.Key())
	}
	if errors.Is(err, storage.ErrExist) {
		return nil
	}
	return err
}

func compress(to io.Writer, archive io.Reader) error {
	out, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, archive)
	return errors.Join(err, out.Close())
}

const maxLine = 1 << 20 // bytes

// Stored returns what was stored under a key, with the archive as it is compressed.
func Stored(ctx context.Context, at journals.Place, key string) (w formats.Workspace, compressed io.ReadCloser, err error) {
	src, err := at.Bucket.Open(ctx, at.Folder+key)
	if err != nil {
		return w, nil, err
	}
	in := bufio.NewReader(io.NewSectionReader(src, 0, src.Size()))
	line, err := jsontext.ReadLine(in, maxLine, errors.New("a workspace is described in too long a line"))
	if err == nil {
		err = json.Unmarshal(line, &w)
	}
	return w, struct {
		io.Reader
		io.Closer
	}{in, src}, err
}
