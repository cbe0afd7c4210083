package hfhub

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

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
