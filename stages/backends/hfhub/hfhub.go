// Package hfhub writes dataset repositories of NeMo's Data Store, which has the API of
// the Hugging Face hub: small files in a commit, large ones by LFS before it, and one
// commit for everything that belongs together. Batches for the hub itself are pushed by
// the Python module rollmill.hub.
//
// A commit is safe to repeat: it names its parent, so that only one of two can
// be made, and after a lost answer the repository's content is read. The xet
// transfer is not supported.
//
// The token is sent only to the endpoint, never to the storage that the
// endpoint names for uploads.
package hfhub

import (
	"context"
	"net/http"
	"net/url"
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

// New makes a client.
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

// Entry is a file of a repository.
type Entry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	OID  string `json:"oid"` // of git
	LFS  *struct {
		OID  string `json:"oid"` // SHA-256
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// Tree lists all files; none when there is no commit yet.
func (c *Client) Tree(ctx context.Context, id string) ([]Entry, error) {
	var out []Entry
	next := c.api(id, "tree", branch) + "?recursive=true&expand=false"
	for seen := map[string]bool{}; next != "" && !seen[next]; {
		seen[next] = true
		var page []Entry
		var header http.Header
		err := remote.Again(ctx, func() (err error) {
			header, err = c.web().Do(ctx, remote.Request{URL: next}, &page)
			return err
		})
		if remote.Status(err) == http.StatusNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Type == "file" {
				out = append(out, e)
			}
		}
		next = c.nextPage(header.Get("Link"))
	}
	return out, nil
}

// nextPage reads <URL>; rel="next". A page on another host is not followed: it
// would get the token.
func (c *Client) nextPage(link string) string {
	for part := range strings.SplitSeq(link, ",") {
		address, params, ok := strings.Cut(part, ";")
		if !ok || !strings.Contains(params, `rel="next"`) {
			continue
		}
		at := c.ours(strings.Trim(strings.TrimSpace(address), "<>"))
		if c.own(at) {
			return at
		}
	}
	return ""
}

// ours converts an address of the public hub to one of the endpoint in use, and
// completes one without a host.
func (c *Client) ours(address string) string {
	if rest, ok := strings.CutPrefix(address, public); ok {
		return c.Endpoint + rest
	}
	if strings.HasPrefix(address, "/") {
		if u, err := url.Parse(c.Endpoint); err == nil {
			return u.Scheme + "://" + u.Host + address
		}
	}
	return address
}

// own reports whether an address is the endpoint's own.
func (c *Client) own(address string) bool {
	one, err := url.Parse(c.Endpoint)
	two, bad := url.Parse(address)
	return err == nil && bad == nil && one.Scheme == two.Scheme && one.Host == two.Host
}
