package hfhub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

func (p *push) object(ctx context.Context, f File, o lfsObject) error {
	if err := p.Guard(); err != nil {
		return err
	}
	up := o.Actions.Upload
	var err error
	if size, ok := up.Header["chunk_size"]; ok {
		err = p.parts(ctx, f, up, size)
	} else {
		_, err = p.put(ctx, p.ours(up.Href), f, 0, f.Size, up.Header)
	}
	if err != nil || o.Actions.Verify == nil {
		return err
	}
	at := p.ours(o.Actions.Verify.Href)
	web := p.storage()
	if p.own(at) {
		web = p.web()
	}
	return remote.Again(ctx, func() error {
		return p.lfs(ctx, web, at, map[string]any{"oid": f.SHA256, "size": f.Size}, nil)
	})
}

// parts uploads a file in the numbered parts that the store names.
func (p *push) parts(ctx context.Context, f File, up *lfsAction, size string) error {
	bad := func(format string, args ...any) error {
		return &remote.Error{What: fmt.Sprintf("%s: uploading %q in parts: ", p.Name, f.Path) + fmt.Sprintf(format, args...)}
	}
	chunk, err := strconv.ParseInt(size, 10, 64)
	if err != nil || chunk <= 0 {
		return bad("a part is to have %q bytes", size)
	}
	urls := map[int]string{}
	for key, url := range up.Header {
		if n, err := strconv.Atoi(key); err == nil && n > 0 {
			urls[n] = url
		}
	}
	count := int((f.Size + chunk - 1) / chunk)
	if len(urls) != count {
		return bad("%d bytes in parts of %d are %d parts, and the store names %d", f.Size, chunk, count, len(urls))
	}
	type part struct {
		Number int    `json:"partNumber"`
		ETag   string `json:"etag"`
	}
	var done []part
	for n := 1; n <= count; n++ {
		if err := p.Guard(); err != nil {
			return err
		}
		from := int64(n-1) * chunk
		header, err := p.put(ctx, p.ours(urls[n]), f, from, min(chunk, f.Size-from), nil)
		if err != nil {
			return err
		}
		if header.Get("ETag") == "" {
			return bad("part %d was answered without an ETag", n)
		}
		done = append(done, part{n, header.Get("ETag")})
	}
	return remote.Again(ctx, func() error {
		return p.lfs(ctx, p.storage(), p.ours(up.Href), map[string]any{"oid": f.SHA256, "parts": done}, nil)
	})
}

// put sends a part of a file. It may be repeated: the store identifies it by its content.
func (p *push) put(ctx context.Context, url string, f File, from, size int64, extra map[string]string) (header http.Header,
	err error) {
	more := http.Header{}
	for key, value := range extra {
		if _, err := strconv.Atoi(key); err != nil && key != "chunk_size" {
			more.Set(key, value)
		}
	}
	err = remote.Again(ctx, func() (err error) {
		body := io.NewSectionReader(f.Content, from, size)
		header, err = p.storage().
			Do(ctx, remote.Request{Method: http.MethodPut, URL: url, Body: body, Size: size, Header: more,
				Limit: slowly}, nil)
		return err
	})
	return header, err
}
