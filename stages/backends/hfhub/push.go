package hfhub

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Change is the content of one commit.
type Change struct {
	Repo        string
	Summary     string
	Description string
	Files       []File
	Delete      func(path string) bool // files to take out, of those that are not in Files; nil for none

	// Guard is called before each thing that is sent.
	Guard func() error
	// Settle is how long a request with a lost answer may take to have its effect; default 5s.
	Settle time.Duration
}

// rounds is how often a commit is started again: after others' commits, and after lost answers.
const rounds = 8

// Push makes the repository contain the change, by one commit or, if it already
// does, by none. It returns the commit that contains it.
// After an error the commit may have been made all the same; repeating the push finds out.
func (c *Client) Push(ctx context.Context, change Change) (commit string, err error) {
	change.Settle = cmp.Or(change.Settle, 5*time.Second)
	for range rounds {
		var again bool
		if commit, again, err = c.pushOnce(ctx, change); !again {
			return commit, err
		}
	}
	return "", fmt.Errorf("%s: gave up after %d attempts: %w", c.Name, rounds, err)
}

// pushOnce is one round; again reports that another one may help.
func (c *Client) pushOnce(ctx context.Context, change Change) (commit string, again bool, err error) {
	p := push{Client: c, Change: change}
	if p.parent, err = c.Head(ctx, change.Repo); err != nil {
		return "", false, err
	}
	if err := p.compare(ctx); err != nil {
		return "", false, err
	}
	if len(p.send)+len(p.gone) == 0 {
		return p.parent, false, nil
	}
	if err := p.preupload(ctx); err != nil {
		return "", false, err
	}
	if len(p.regular)+len(p.large)+len(p.gone) == 0 {
		return p.parent, false, nil
	}
	if err := p.upload(ctx); err != nil {
		return "", false, err
	}
	if err := p.Guard(); err != nil {
		return "", false, err
	}
	commit, err = p.commit(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return commit, false, err
	case remote.Status(err) == http.StatusPreconditionFailed: // another commit was made meanwhile
		return "", true, err
	case !remote.Unsure(err):
		return "", false, err
	}
	// It may have been made, or may still be in progress: look again.
	var unsure *remote.Error
	errors.As(err, &unsure)
	select {
	case <-ctx.Done():
		return "", false, err
	case <-time.After(max(change.Settle, unsure.After)):
		return "", true, err
	}
}

// push is one round of a change.
type push struct {
	*Client
	Change
	parent         string
	send           []File   // what the repository does not hold
	gone           []string // what it is not to hold any more
	regular, large []File
}

// compare finds the files to send and the files to delete.
func (p *push) compare(ctx context.Context) error {
	tree, err := p.Tree(ctx, p.Repo)
	if err != nil {
		return err
	}
	there := map[string]Entry{}
	for _, e := range tree {
		there[e.Path] = e
	}
	for _, f := range p.Files {
		if e, ok := there[f.Path]; ok {
			same, err := f.same(e)
			if err != nil {
				return err
			}
			if delete(there, f.Path); same {
				continue
			}
		}
		p.send = append(p.send, f)
	}
	for _, path := range slices.Sorted(maps.Keys(there)) {
		if p.Delete != nil && p.Delete(path) {
			p.gone = append(p.gone, path)
		}
	}
	return nil
}

// preupload asks how each file is to be sent.
func (p *push) preupload(ctx context.Context) error {
	type question struct {
		Path   string `json:"path"`
		Sample string `json:"sample"`
		Size   int64  `json:"size"`
	}
	if len(p.send) == 0 {
		return nil
	}
	var ask struct {
		Files []question `json:"files"`
	}
	for _, f := range p.send {
		sample, err := f.sample()
		if err != nil {
			return err
		}
		ask.Files = append(ask.Files, question{f.Path, base64.StdEncoding.EncodeToString(sample), f.Size})
	}
	var answer struct {
		Files []preuploaded `json:"files"`
	}
	err := remote.Again(ctx, func() error {
		return p.web().Post(ctx, p.api(p.Repo, "preupload", branch), ask, &answer)
	})
	if err != nil {
		return err
	}
	modes := map[string]preuploaded{}
	for _, f := range answer.Files {
		modes[f.Path] = f
	}
	for _, f := range p.send {
		if err := p.sort(f, modes[f.Path]); err != nil {
			return err
		}
	}
	return nil
}

// preuploaded is the store's answer about a file.
type preuploaded struct {
	Path   string `json:"path"`
	Mode   string `json:"uploadMode"`
	Ignore bool   `json:"shouldIgnore"`
	OID    string `json:"oid"` // of what it holds there
}

func (p *push) sort(f File, how preuploaded) error {
	if how.Ignore {
		return &remote.Error{What: fmt.Sprintf("%s: the repository %q ignores %q by its .gitignore", p.Name, p.Repo, f.Path),
			Usage: true}
	}
	switch {
	case how.OID != "" && how.Mode == "lfs" && how.OID == f.SHA256:
	case f.Size == 0 || how.Mode == "regular":
		if blob, err := f.blob(); err != nil || blob == how.OID {
			return err
		}
		p.regular = append(p.regular, f)
	case how.Mode == "lfs":
		p.large = append(p.large, f)
	default:
		return &remote.Error{What: fmt.Sprintf("%s: %q is to be uploaded as %q, which is neither regular nor lfs", p.Name,
			f.Path, how.Mode)}
	}
	return nil
}
