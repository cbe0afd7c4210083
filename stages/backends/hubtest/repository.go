package hubtest

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // git's names
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

type repository struct {
	private bool
	commits []*commit
}

type commit struct {
	oid, title string
	files      map[string]*file
}

type file struct {
	data []byte
	lfs  bool
	in   string // the commit that put it there
}

func sum256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func blob(data []byte) string {
	sum := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(sum, "blob %d\x00", len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}

// lfsPointer is what git keeps of a file whose content is elsewhere.
func lfsPointer(data []byte) []byte {
	return fmt.Appendf(nil, "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", sum256(data), len(data))
}

func (r *repository) head() *commit { return r.commits[len(r.commits)-1] }

func (r *repository) find(rev string) *commit {
	if rev == "" || rev == "main" || rev == "refs/heads/main" {
		return r.head()
	}
	at := slices.IndexFunc(r.commits, func(c *commit) bool { return c.oid == rev })
	if at < 0 {
		return nil
	}
	return r.commits[at]
}

func (r *repository) add(title string, change func(files map[string]*file)) *commit {
	files := map[string]*file{}
	parent := ""
	if len(r.commits) > 0 {
		parent = r.head().oid
		maps.Copy(files, r.head().files)
	}
	c := &commit{title: title, files: files}
	c.oid = blob(fmt.Append(nil, parent, title, len(r.commits)))
	change(files)
	for _, f := range files {
		f.in = cmp.Or(f.in, c.oid)
	}
	r.commits = append(r.commits, c)
	return c
}

var birth = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format(time.RFC3339)
