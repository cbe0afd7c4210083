// Package hfhub writes dataset repositories over HTTP, at the Hugging Face hub
// and stores with the same API: small files in a commit, large ones by LFS
// before it, and one commit for everything that belongs together.
//
// A commit is safe to repeat: it names its parent, so that only one of two can
// be made, and after a lost answer the repository's content is read. The xet
// transfer is not supported.
//
// The token is sent only to the endpoint, never to the storage that the
// endpoint names for uploads.
package hfhub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Hub is the public hub.
const Hub = "https://huggingface.co"

// Main is the default branch.
const Main = "main"

// Client writes to one store.
type Client struct {
	Endpoint string // Hub, or {datastore}/v1/hf
	Token    string // "" sends no header
	Name     string // begins each error
	Old      bool   // the store was written against clients up to 1.3: "private", not "visibility"
	Help     string // hint of a refusal for missing rights
}

// New makes a client; an empty endpoint is the public hub.
func New(name, endpoint, token string) *Client {
	return &Client{Name: name, Endpoint: strings.TrimRight(cmp.Or(endpoint, Hub), "/"), Token: token}
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

// CheckToken checks whether the store knows the token, if it can say so.
func (c *Client) CheckToken(ctx context.Context) error {
	var user struct{ Name string }
	err := c.web().Get(ctx, c.Endpoint+"/api/whoami-v2", &user)
	if remote.Status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// Create makes a repository unless it exists.
func (c *Client) Create(ctx context.Context, id string, private bool) error {
	body := map[string]any{"name": id, "organization": nil, "type": "dataset"}
	if owner, name, ok := strings.Cut(id, "/"); ok {
		body["name"], body["organization"] = name, owner
	}
	switch {
	case c.Old:
		body["private"] = private
	case private:
		body["visibility"] = "private"
	default:
		body["visibility"] = "public"
	}
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

// Head returns the newest commit of a branch; "" if the store does not report
// it.
func (c *Client) Head(ctx context.Context, id, rev string) (string, error) {
	var info struct {
		SHA string `json:"sha"`
	}
	err := c.web().Get(ctx, c.api(id, "revision", url.PathEscape(rev)), &info)
	if code := remote.Status(err); code == http.StatusNotFound || code == http.StatusMethodNotAllowed {
		return "", nil
	}
	return info.SHA, err
}

// Read downloads a file. Its absence is an error with status 404.
func (c *Client) Read(ctx context.Context, id, rev, path string) ([]byte, error) {
	var data []byte
	path = strings.ReplaceAll(url.PathEscape(path), "%2F", "/")
	err := c.web().Get(ctx, c.Endpoint+"/datasets/"+id+"/resolve/"+url.PathEscape(rev)+"/"+path, &data)
	return data, err
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
func (c *Client) Tree(ctx context.Context, id, rev string) ([]Entry, error) {
	var out []Entry
	next := c.api(id, "tree", url.PathEscape(rev)) + "?recursive=true&expand=false"
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
	if rest, ok := strings.CutPrefix(address, Hub); ok && c.Endpoint != Hub {
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

// Warnings asks the store to check a card, if it supports that.
func (c *Client) Warnings(ctx context.Context, card string) error {
	var answer struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	q := remote.Request{Method: http.MethodPost, URL: c.Endpoint + "/api/validate-yaml",
		JSON: map[string]string{"content": card, "repoType": "dataset"}, Limit: 30 * time.Second}
	_, err := c.web().Do(ctx, q, &answer)
	if e := (*remote.Error)(nil); remote.Status(err) == http.StatusBadRequest && errors.As(err, &e) {
		if json.Unmarshal(e.Answer, &answer) == nil && len(answer.Errors) > 0 {
			return &remote.Error{What: fmt.Sprintf("%s: the card is refused: %s", c.Name, answer.Errors[0].Message)}
		}
		return err
	}
	return nil // a store without this check, or it is not available now
}

// LastCommit returns the commit that a file comes from, or the head if the
// store does not report it.
func (c *Client) LastCommit(ctx context.Context, id, rev, path string) (string, error) {
	var found []struct {
		Path string `json:"path"`
		Last *struct {
			ID string `json:"id"`
		} `json:"lastCommit"`
	}
	form := url.Values{"paths": {path}, "expand": {"true"}}.Encode()
	err := remote.Again(ctx, func() error {
		_, err := c.web().Do(ctx, remote.Request{Method: http.MethodPost, URL: c.api(id, "paths-info", url.PathEscape(rev)),
			Type: "application/x-www-form-urlencoded", Body: strings.NewReader(form), Size: int64(len(form))}, &found)
		return err
	})
	if err == nil && len(found) == 1 && found[0].Last != nil && found[0].Last.ID != "" {
		return found[0].Last.ID, nil
	}
	return c.Head(ctx, id, rev)
}
