package remote

import (
	"errors"
	"fmt"
	"net/http"
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

// Stay is a CheckRedirect for clients that send keys: it follows up to five redirects within the
// same scheme, host and port that keep the method. Any other redirect is returned as the answer:
// net/http would send the keys to another port, and turn a POST into a GET.
func Stay(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 5 || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// NewHTTP returns a client with its own connections, of which it keeps up to perHost idle ones per host; the buffers of
// many are small. It is as Staying returns it.
func NewHTTP(perHost int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, perHost
	t.ReadBufferSize = min(4<<10, max(1<<10, (1<<20)/perHost))
	t.WriteBufferSize = t.ReadBufferSize
	return Staying(&http.Client{Transport: t})
}

// Staying returns a client that follows redirects as Stay does, with a transport as Uncompressed returns it.
func Staying(c *http.Client) *http.Client {
	one := *c
	one.Transport, one.CheckRedirect = Uncompressed(c.Transport), Stay
	return &one
}

// Elsewhere returns the target of a redirect; "" if the answer is none. It
// leaves out the query, which may hold a signature.
func Elsewhere(resp *http.Response) string {
	if resp.StatusCode/100 != 3 {
		return ""
	}
	to, err := resp.Location()
	if err != nil {
		return "nowhere"
	}
	return fmt.Sprintf("%s://%s%s", to.Scheme, to.Host, to.EscapedPath())
}
