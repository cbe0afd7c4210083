package hfhub

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// slowly is how long a commit or a part may take.
const slowly = time.Hour

// commit makes the commit, once. Its body is streamed.
func (p *push) commit(ctx context.Context) (string, error) {
	lines, err := p.lines()
	if err != nil {
		return "", err
	}
	size := int64(0)
	for _, l := range lines {
		size += l.size()
	}
	read, write := io.Pipe()
	defer read.Close()
	go func() {
		for _, l := range lines {
			if err := l.write(write); err != nil {
				write.CloseWithError(err)
				return
			}
		}
		write.Close()
	}()
	var answer struct {
		CommitOID string `json:"commitOid"`
	}
	_, err = p.web().Do(ctx, remote.Request{
		Method: http.MethodPost, URL: p.api(p.Repo, "commit", branch),
		Type: "application/x-ndjson", Body: read, Size: size, Limit: slowly,
	}, &answer)
	if err == nil && answer.CommitOID == "" {
		err = &remote.Error{What: fmt.Sprintf("%s: the answer to a commit of %q names no commit", p.Name, p.Repo),
			Status: http.StatusOK}
	}
	return answer.CommitOID, err
}

// line is a line of a commit's body; content, if any, is written in base64
// between before and after.
type line struct {
	before, after []byte
	content       *File
}

func (l line) size() int64 {
	n := int64(len(l.before) + len(l.after))
	if l.content != nil {
		n += (l.content.Size + 2) / 3 * 4
	}
	return n
}

func (l line) write(w io.Writer) error {
	if _, err := w.Write(l.before); err != nil {
		return err
	}
	if l.content != nil {
		enc := base64.NewEncoder(base64.StdEncoding, w)
		if _, err := io.Copy(enc, l.content.reader()); err != nil {
			return err
		}
		if err := enc.Close(); err != nil {
			return err
		}
	}
	_, err := w.Write(l.after)
	return err
}

// lines returns the lines of the commit, the header first.
func (p *push) lines() ([]line, error) {
	header := map[string]string{"summary": p.Summary, "description": p.Description}
	if p.parent != "" {
		header["parentCommit"] = p.parent
	}
	var out []line
	add := func(key string, value any) error {
		data, err := json.Marshal(map[string]any{"key": key, "value": value})
		out = append(out, line{before: append(data, '\n')})
		return err
	}
	if err := add("header", header); err != nil {
		return nil, err
	}
	for _, path := range p.gone {
		if err := add("deletedFile", map[string]any{"path": path}); err != nil {
			return nil, err
		}
	}
	for _, f := range p.regular {
		path, err := json.Marshal(f.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, line{before: []byte(`{"key":"file","value":{"content":"`), content: &f,
			after: fmt.Appendf(nil, `","path":%s,"encoding":"base64"}}`+"\n", path)})
	}
	for _, f := range p.large {
		if err := add("lfsFile", map[string]any{"path": f.Path, "algo": "sha256", "oid": f.SHA256,
			"size": f.Size}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
