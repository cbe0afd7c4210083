package runroot

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/storage"
)

// place splits a URI into the part that two places must have in common to be
// related, the path from there, and the query.
func place(uri string) (root, p, query string) {
	if local, is, err := storage.Path(uri); is && err == nil {
		if abs, err := filepath.Abs(local); err == nil {
			local = abs
		}
		return "", filepath.ToSlash(local), ""
	}
	scheme, rest, _ := strings.Cut(uri, "://")
	rest, query, _ = strings.Cut(rest, "?")
	host, p, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, path.Clean("/" + p), query
}

// Relative returns the URI of a dataset as one at from refers to it: relative where both may move
// together, and without credentials.
func Relative(from, to string) string {
	from, to = storage.Redact(from), storage.Redact(to)
	fromRoot, fromPath, fromQuery := place(from)
	root, p, query := place(to)
	absolute := to
	if root == "" {
		absolute = p
	}
	if fromRoot != root || !sameQuery(fromQuery, query) {
		return absolute
	}
	a, b := strings.Split(fromPath, "/")[1:], strings.Split(p, "/")[1:]
	shared := 0
	for shared < len(a) && shared < len(b) && a[shared] == b[shared] {
		shared++
	}
	if shared == 0 && root == "" || shared == len(a) {
		return absolute
	}
	up := strings.Repeat("../", len(a)-shared)
	return strings.TrimSuffix(up+strings.Join(b[shared:], "/"), "/")
}

func sameQuery(a, b string) bool {
	if a == b {
		return true
	}
	valuesA, errA := url.ParseQuery(a)
	valuesB, errB := url.ParseQuery(b)
	return errA == nil && errB == nil && valuesA.Encode() == valuesB.Encode()
}

// samePlace reports whether two URIs name the same folder.
func samePlace(a, b string) bool {
	rootA, pathA, queryA := place(a)
	rootB, pathB, queryB := place(b)
	if rootA != rootB {
		return false
	}
	if rootA != "" || pathA == pathB {
		return pathA == pathB && sameQuery(queryA, queryB)
	}
	infoA, errA := os.Stat(pathA)
	infoB, errB := os.Stat(pathB)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Follows reports whether a URI that is recorded in a file at another URI may
// be read: it is on a local disk, or in the same store with the same endpoint.
func Follows(from, uri string) bool {
	root, _, query := place(uri)
	if root == "" {
		return true
	}
	fromRoot, _, fromQuery := place(from)
	return root == fromRoot && sameQuery(query, fromQuery)
}

// Resolve returns the URI of a Ref of the dataset at a URI, in a form that can be opened.
func Resolve(from, ref string) string {
	if !strings.HasPrefix(ref, "../") {
		return ref
	}
	root, p, _ := place(from)
	p = path.Join(p, ref)
	if root == "" {
		return p
	}
	if _, query, ok := strings.Cut(from, "?"); ok {
		p += "?" + query
	}
	if scheme, rest, _ := strings.Cut(from, "://"); root != scheme+"://" {
		host, _, _ := strings.Cut(rest, "/") // with the user, if there is one
		root = scheme + "://" + host
	}
	return root + p
}
