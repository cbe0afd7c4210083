// Package hfhub writes dataset repositories of NeMo's Data Store, which has the API of
// the Hugging Face hub: small files in a commit, large ones by LFS before it, and one
// commit for everything that belongs together. Batches for the hub itself are pushed by
// the Python module rollmill.hub.
//
// A commit is safe to repeat: it names its parent, so that only one of two can be made, and
// after a lost answer the repository's content is read. The xet transfer is not supported.
//
// The token is sent only to the endpoint, never to the storage that the
// endpoint names for uploads.
package hfhub

import (
	"context"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

const (
	public = "https://huggingface.co" // whose addresses a store may answer with
	branch = "main"
)

// Client writes to one store.
type Client struct {
	Endpoint string // {datastore}/v1/hf
	Token    string // "" sends no header
	Name     string // begins each error
	Help     string // hint of a refusal for missing rights
}

func New(name, endpoint, token string) *Client {
	return &Client{Name: name, Endpoint: strings.TrimRight(endpoint, "/"), Token: token}
}

// web returns the client for the endpoint itself.
func (c *Client) web() *remote.Client {
	return &remote.Client{Name: c.Name, Secrets: []string{c.Token}, Sign: func(r *http.Request) {
		r.Header.Set("User-Agent", "rollmill")
		remote.Authorize(r, c.Token)
	}, Explain: func(e *remote.Error, _ *http.Request, _ []byte) {
		if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
			e.Help, e.Usage = c.Help, true
		}
		if e.Status == http.StatusConflict && strings.Contains(strings.ToLower(string(e.Answer)), "conflicting operation") {
			e.Retry = true // a race of creations
		}
	}}
}

// storage returns the client for uploads; it must not get the token.
func (c *Client) storage() *remote.Client {
	return &remote.Client{Name: c.Name, Secrets: []string{c.Token}}
}

func (c *Client) api(id string, parts ...string) string {
	return c.Endpoint + "/api/datasets/" + id + "/" + strings.Join(parts, "/")
}

// Create makes a repository unless it exists.
func (c *Client) Create(ctx context.Context, id string) error {
	owner, name, _ := strings.Cut(id, "/")
	body := map[string]any{"name": name, "organization": owner, "type": "dataset", "private": false}
	err := remote.Again(ctx, func() error {
		return c.web().Post(ctx, c.Endpoint+"/api/repos/create", body, nil)
	})
	switch remote.Status(err) {
	case http.StatusConflict: // it exists
		return nil
	// a token may be able to write but not to create
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		if c.web().Get(ctx, c.Endpoint+"/api/datasets/"+id, nil) == nil { // it exists
			return nil
		}
	}
	return err
}

// Head returns the newest commit; "" if the store does not report it.
func (c *Client) Head(ctx context.Context, id string) (string, error) {
	var info struct {
		SHA string `json:"sha"`
	}
	err := c.web().Get(ctx, c.api(id, "revision", branch), &info)
	if code := remote.Status(err); code == http.StatusNotFound || code == http.StatusMethodNotAllowed {
		return "", nil
	}
	return info.SHA, err
}
