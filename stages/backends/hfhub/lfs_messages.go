package hfhub

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

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
