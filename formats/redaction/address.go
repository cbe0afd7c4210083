package redaction

import (
	"net/url"
	"strings"

	"github.com/rollmill/rollmill/formats/secret"
)

// AddInPath adds the keys in a URL's path (see InPath) to the known secrets, and
// reports whether it added any.
func AddInPath(known *secret.Set, name, address string, random bool) (added bool) {
	for _, part := range InPath(address, random) {
		added = known.Add(name, part) || added
	}
	return added
}

// InPath returns the parts of a URL's path that are keys: those in which a
// detector finds one and, with random, those of at least minRandom characters
// that look random. Without random, digests and ids of runs are not returned.
func InPath(address string, random bool) (parts []string) {
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	_, path, _ := strings.Cut(rest, "/")
	for raw := range strings.SplitSeq(path, "/") {
		part, err := url.PathUnescape(raw)
		if err != nil {
			part = raw
		}
		if _, key := allKeys().first(part); !key && !(random && looksRandom(part)) {
			continue
		}
		if parts = append(parts, part); raw != part {
			parts = append(parts, raw)
		}
	}
	return parts
}

const minRandom = 20

// looksRandom reports whether a text changes between small letters, capital
// letters and digits too often for a name.
func looksRandom(text string) bool {
	changes, before := 0, ' '
	for _, c := range text {
		kind := ' '
		switch {
		case c >= 'a' && c <= 'z':
			kind = 'a'
		case c >= 'A' && c <= 'Z':
			kind = 'A'
		case c >= '0' && c <= '9':
			kind = '0'
		}
		if kind != before && kind != ' ' && before != ' ' {
			changes++
		}
		before = kind
	}
	return len(text) >= minRandom && 4*changes >= len(text)
}
