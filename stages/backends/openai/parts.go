package openai

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/url"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// inParts sends a file that is too large for one piece. A part has no effect
// until the upload is completed, so a part whose answer was lost is sent again:
// the first one is then never named.
func (t *Trainer) inParts(ctx context.Context, name string, size int64, content func(io.Writer) error) (f fileObject,
	err error) {
	var u struct {
		ID     string      `json:"id"`
		Status string      `json:"status"`
		File   *fileObject `json:"file"`
	}
	if err := t.post(ctx, "/uploads",
		map[string]any{"filename": name, "purpose": "fine-tune", "bytes": size, "mime_type": "text/jsonl"}, &u); err != nil {
		return f, err
	}
	at := "/uploads/" + url.PathEscape(u.ID)
	p := &parts{send: func(data []byte) (string, error) { return t.part(ctx, at, data) }, size: t.cfg.PartBytes,
		sum: md5.New()}
	if err = content(p); err == nil {
		err = p.flush()
	}
	if err == nil {
		err = t.post(ctx, at+"/complete", map[string]any{"part_ids": p.ids, "md5": hex.EncodeToString(p.sum.Sum(nil))}, &u)
	}
	if err != nil {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = t.post(tidy, at+"/cancel", struct{}{}, nil) // it would expire by itself
		return f, err
	}
	if u.Status != "completed" || u.File == nil {
		return f, &remote.Error{What: fmt.Sprintf("openai: the upload %q is %q, and should be completed", u.ID, u.Status)}
	}
	return *u.File, nil
}

const partTries = 4

func (t *Trainer) part(ctx context.Context, at string, data []byte) (id string, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	w, err := form.CreateFormFile("data", "part")
	if err != nil {
		return "", err
	}
	_, _ = w.Write(data)
	if err := form.Close(); err != nil {
		return "", err
	}
	return remote.Retry(ctx, partTries, 2*t.cfg.Poll, func() (string, error) {
		var answer struct {
			ID string `json:"id"`
		}
		err := t.send(ctx, at+"/parts", form.FormDataContentType(), bytes.NewReader(body.Bytes()), int64(body.Len()), &answer)
		return answer.ID, err
	})
}

// parts splits the bytes written into parts, and keeps one.
type parts struct {
	send func([]byte) (string, error)
	size int
	buf  []byte
	ids  []string
	sum  hash.Hash
}

func (p *parts) Write(data []byte) (int, error) {
	written := len(data)
	p.sum.Write(data)
	for len(data) > 0 {
		n := min(len(data), p.size-len(p.buf))
		p.buf, data = append(p.buf, data[:n]...), data[n:]
		if len(p.buf) == p.size {
			if err := p.flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (p *parts) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	id, err := p.send(p.buf)
	if err != nil {
		return err
	}
	p.ids, p.buf = append(p.ids, id), p.buf[:0]
	return nil
}
