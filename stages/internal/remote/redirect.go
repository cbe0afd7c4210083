package remote

import (
	"fmt"
	"net/http"
)

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

// NewHTTP returns a client with its own connections, of which it keeps up to
// perHost idle ones per host. It is as Staying returns it.
func NewHTTP(perHost int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, perHost
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
