package hfhub

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Change is the content of one commit.
type Change struct {
	Repo, Revision string // Revision: default Main
	Summary        string
	Description    string
	Files          []File
	Delete         func(path string) bool // files to take out, of those that are not in Files; nil for none

	// Guard is called before each thing that is sent; nil for always.
	Guard func() error
	// Fence is called right before the commit; nil for always.
	Fence func() error
	// Settle is how long a request with a lost answer may take to have its
	// effect; default 5s.
	Settle time.Duration
}

// rounds is how often a commit is started again: after others' commits, and
// after lost answers.
const rounds = 8

// Push makes the repository contain the change, by one commit or, if it already
// does, by none. It returns the commit that contains it.
//
// If Open is true for an error, it is unknown whether the commit was made;
// repeating the push finds out.
func (c *Client) Push(ctx context.Context, change Change) (commit string, err error) {
	change.Revision = cmp.Or(change.Revision, Main)
	change.Settle = cmp.Or(change.Settle, 5*time.Second)
	guard, mu := change.Guard, sync.Mutex{}
	change.Guard = func() error { // files are uploaded concurrently
		mu.Lock()
		defer mu.Unlock()
		if guard == nil {
			return nil
		}
		return guard()
	}
	if err := change.check(); err != nil {
		return "", err
	}
	open := false
	for range rounds {
		var posted, again bool
		commit, posted, again, err = c.pushOnce(ctx, change)
		open = open || posted && remote.Unsure(err)
		if err == nil {
			return commit, nil
		}
		if !again {
			return "", opened(err, open)
		}
	}
	return "", opened(fmt.Errorf("%s: gave up after %d attempts: %w", c.Name, rounds, err), open)
}

type openError struct{ error }

func (e openError) Unwrap() error { return e.error }

func opened(err error, open bool) error {
	if open {
		return openError{err}
	}
	return err
}

// Open reports whether a push which failed may have made its commit all the
// same.
func Open(err error) bool {
	var e openError
	return errors.As(err, &e)
}

func (ch Change) check() error {
	if err := CheckID(ch.Repo); err != nil {
		return err
	}
	if strings.TrimSpace(ch.Summary) == "" {
		return &remote.Error{What: "a commit needs a summary", Usage: true}
	}
	seen := map[string]bool{}
	for _, f := range ch.Files {
		if err := CheckPath(f.Path); err != nil {
			return err
		}
		if seen[f.Path] {
			return &remote.Error{What: fmt.Sprintf("path %q occurs twice in a commit", f.Path), Usage: true}
		}
		seen[f.Path] = true
	}
	return nil
}

// pushOnce is one round: posted reports that a commit was requested, and again
// that another round may help.
func (c *Client) pushOnce(ctx context.Context, change Change) (commit string, posted, again bool, err error) {
	p := push{Client: c, Change: change}
	if p.parent, err = c.Head(ctx, change.Repo, change.Revision); err != nil {
		return "", false, false, err
	}
	if err := p.compare(ctx); err != nil {
		return "", false, false, err
	}
	if len(p.send)+len(p.gone) == 0 {
		return p.parent, false, false, nil
	}
	if err := p.preupload(ctx); err != nil {
		return "", false, false, err
	}
	if len(p.regular)+len(p.large)+len(p.gone) == 0 {
		return p.parent, false, false, nil
	}
	if err := p.upload(ctx); err != nil {
		return "", false, false, err
	}
	if err := p.Guard(); err != nil {
		return "", false, false, err
	}
	if p.Fence != nil {
		if err := p.Fence(); err != nil {
			return "", false, false, err
		}
	}
	commit, err = p.commit(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return commit, true, false, err
	case remote.Status(err) == http.StatusPreconditionFailed: // another commit was made meanwhile
		return "", true, true, err
	case !remote.Unsure(err):
		return "", true, false, err
	}
	// It may have been made, or may still be in progress: look again.
	var unsure *remote.Error
	errors.As(err, &unsure)
	select {
	case <-ctx.Done():
		return "", true, false, err
	case <-time.After(max(change.Settle, unsure.After)):
		return "", true, true, err
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
	tree, err := p.Tree(ctx, p.Repo, p.Revision)
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

// atOnce is how many files a request may name.
const atOnce = 256

// preupload asks how each file is to be sent.
func (p *push) preupload(ctx context.Context) error {
	type question struct {
		Path   string `json:"path"`
		Sample string `json:"sample"`
		Size   int64  `json:"size"`
	}
	for files := range slices.Chunk(p.send, atOnce) {
		var ask struct {
			Files []question `json:"files"`
		}
		for _, f := range files {
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
			return p.web().Post(ctx, p.api(p.Repo, "preupload", url.PathEscape(p.Revision)), ask, &answer)
		})
		if err != nil {
			return err
		}
		modes := map[string]preuploaded{}
		for _, f := range answer.Files {
			modes[f.Path] = f
		}
		for _, f := range files {
			if err := p.sort(f, modes[f.Path]); err != nil {
				return err
			}
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
