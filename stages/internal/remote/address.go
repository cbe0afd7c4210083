package remote

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/rollmill/rollmill/formats/secret"
)

// Address is where a service of the user is: "URL" or "version=V,URL". Its host and port are
// not part of an identity, only the version and Path: a service that moved is the same.
type Address struct {
	URL     *url.URL
	Version string // that the user gives; "" for none
}

// ParseAddress reads an address. It refuses one with a secret, because datasets store it: the
// service's key comes from the environment variable key.
func ParseAddress(text, key string) (a Address, err error) {
	if rest, versioned := strings.CutPrefix(text, "version="); versioned {
		version, address, _ := strings.Cut(rest, ",")
		if a.Version, text = strings.TrimSpace(version), strings.TrimSpace(address); a.Version == "" {
			return a, errors.New("version= names none")
		}
	}
	if err := secret.InURL(text); err != nil {
		return a, fmt.Errorf("%w: put a key into %s, which is sent as a bearer token and kept nowhere", err, key)
	}
	a.URL, err = HTTPURL(text)
	return a, err
}

// Path returns the path and the query.
func (a Address) Path() string { return a.URL.RequestURI() }

// HTTPURL parses an address of scheme http or https. Its error leaves out the query, which may
// hold a secret.
func HTTPURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		shown, _, _ := strings.Cut(text, "?")
		return nil, fmt.Errorf("%q is not an HTTP URL", shown)
	}
	return u, nil
}
