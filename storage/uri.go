package storage

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Path returns the local path of a URI or path, and false for other schemes. A
// file URI is percent-encoded and absolute, or begins with ./ and is relative
// to the working folder: file:///a%20b, file://localhost/a, file://./a.
func Path(uri string) (string, bool, error) {
	rest, isFile := strings.CutPrefix(uri, "file://")
	if !isFile {
		return uri, !strings.Contains(uri, "://"), nil
	}
	rest, _, _ = strings.Cut(rest, "?")
	host, _, _ := strings.Cut(rest, "/")
	switch host {
	case "localhost":
		rest = strings.TrimPrefix(rest, host)
	case "", ".", "..":
	default:
		return "", true, fmt.Errorf("a file URI is file:///PATH or file://./PATH; %q is not a folder on this machine",
			host[strings.LastIndex(host, "@")+1:])
	}
	p, err := url.PathUnescape(rest)
	return p, true, err
}

// Join appends slash-separated elements to a URI or a local path. An element ..
// goes up, but never above the URI's host.
func Join(uri string, elem ...string) string {
	if !strings.Contains(uri, "://") {
		return filepath.Join(append([]string{uri}, elem...)...)
	}
	base, query, _ := strings.Cut(uri, "?")
	scheme, _, _ := strings.Cut(base, "://")
	floor := len(scheme) + len("://")
	for _, part := range strings.Split(strings.Join(elem, "/"), "/") {
		if len(base) > floor {
			base = strings.TrimSuffix(base, "/")
		}
		switch part {
		case "", ".":
		case "..":
			if i := strings.LastIndex(base, "/"); i >= floor {
				base = base[:i]
			}
		default:
			base += "/" + escaped(scheme, part)
		}
	}
	if query != "" {
		base += "?" + query
	}
	return base
}

// escaped returns a part of a path in the form for a URI of the scheme. Only
// file URIs are percent-encoded.
func escaped(scheme, part string) string {
	if scheme != "file" {
		return part
	}
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(part)
}

// IsFolder reports whether a URI or a local path ends in a slash, before a bucket's parameters.
func IsFolder(uri string) bool {
	if strings.Contains(uri, "://") {
		uri, _, _ = strings.Cut(uri, "?")
	}
	return strings.HasSuffix(uri, "/")
}

// Split returns the folder of a URI or a local path, and its last element: of "." and ".."
// the name that they have, of "/" none.
func Split(uri string) (dir, name string) {
	if !strings.Contains(uri, "://") {
		if name = filepath.Base(uri); uri != "" && (name == "." || name == "..") {
			if whole, err := filepath.Abs(uri); err == nil {
				uri = whole
			}
		}
		return filepath.Dir(uri), strings.TrimSuffix(filepath.Base(uri), "/")
	}
	base, query, _ := strings.Cut(uri, "?")
	base = strings.TrimSuffix(base, "/")
	dir, name = path.Split(base)
	if strings.HasPrefix(uri, "file://") {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	if !strings.HasSuffix(dir, "://") {
		dir = strings.TrimSuffix(dir, "/")
	}
	if query != "" {
		dir += "?" + query
	}
	return dir, name
}

// secret matches a query parameter that may hold a credential: its name, and then its value.
var secret = regexp.MustCompile(`(?i)([?&][^=&]*(?:secret|token|password|passwd|credential|signature|access_?key|api_?key|account_?key|sas|sig)[^=&]*=)[^&#]*`)

// Redact removes credentials from a URI, for records, logs and errors: the part
// before the host's @, and parameters with the names of secrets.
func Redact(uri string) string {
	scheme, rest, found := strings.Cut(uri, "://")
	if !found {
		return uri
	}
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	host = host[strings.LastIndex(host, "@")+1:]
	return secret.ReplaceAllString(scheme+"://"+host+tail, "${1}redacted")
}
