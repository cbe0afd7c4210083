package hfhub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// upload sends the contents of large files that the store does not have.
func (p *push) upload(ctx context.Context) error {
	if len(p.large) == 0 {
		return nil
	}
	all, err := p.batch(ctx, p.large)
	if err != nil {
		return err
	}
	files := map[string]File{}
	for _, f := range p.large {
		files[f.SHA256] = f
	}
	for _, o := range all { // before anything is sent
		f, asked := files[o.OID]
		switch {
		case !asked || f.Size != o.Size:
			return &remote.Error{What: fmt.Sprintf("%s: the store answers with an object %q of %d bytes that was "+
				"not requested", p.Name, o.OID, o.Size)}
		case o.Error != nil:
			return &remote.Error{What: fmt.Sprintf("%s: the store refuses %q: %d: %s", p.Name, f.Path, o.Error.Code,
				o.Error.Message)}
		}
	}
	for _, o := range all {
		if o.Actions == nil || o.Actions.Upload == nil { // the store has the content
			continue
		}
		if err := p.object(ctx, files[o.OID], o); err != nil {
			return err
		}
	}
	return nil
}

// batch asks for the upload addresses.
func (p *push) batch(ctx context.Context, files []File) ([]lfsObject, error) {
	ask := map[string]any{"operation": "upload", "transfers": []string{"basic", "multipart"}, "hash_algo": "sha256",
		"ref": map[string]string{"name": branch}}
	var objects []lfsObject
	for _, f := range files {
		if !slices.ContainsFunc(objects, func(o lfsObject) bool { return o.OID == f.SHA256 }) {
			objects = append(objects, lfsObject{OID: f.SHA256, Size: f.Size})
		}
	}
	ask["objects"] = objects
	var answer struct {
		Objects []lfsObject `json:"objects"`
	}
	err := remote.Again(ctx, func() error {
		return p.lfs(ctx, p.web(), p.Endpoint+"/datasets/"+p.Repo+".git/info/lfs/objects/batch", ask, &answer)
	})
	if err == nil && len(answer.Objects) != len(objects) {
		err = &remote.Error{What: fmt.Sprintf("%s: %d objects were requested, and the store answered with %d", p.Name,
			len(objects), len(answer.Objects))}
	}
	return answer.Objects, err
}

const lfsType = "application/vnd.git-lfs+json"

type lfsObject struct {
	OID     string `json:"oid"`
	Size    int64  `json:"size"`
	Actions *struct {
		Upload *lfsAction `json:"upload"`
		Verify *lfsAction `json:"verify"`
	} `json:"actions,omitempty"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type lfsAction struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

// lfs posts JSON in LFS's media type.
func (p *push) lfs(ctx context.Context, web *remote.Client, url string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = web.Do(ctx, remote.Request{Method: http.MethodPost, URL: url, Type: lfsType,
		Header: http.Header{"Accept": {lfsType}}, Body: bytes.NewReader(data), Size: int64(len(data))}, answer)
	return err
}
