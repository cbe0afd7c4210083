// Package web is what every client of a service does alike: how long it waits
// when it is told to, and which redirects it follows.
//
// It makes no requests: stages/backends/remote, the recorder and the rewards
// have their own clients.
package web

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Patience is the longest that a service may have a client wait before the next
// try. A larger wait, an hour or 1e12 seconds, is cut to it: the client's own
// limits decide how often it tries.
const Patience = time.Minute

var left = regexp.MustCompile(`(?:^|;)\s*t=(\d+)`)

// After returns how long a service asks a client to wait: Retry-After-Ms in
// milliseconds, Retry-After in seconds or as a date, or the hub's
// Ratelimit: "api";r=0;t=55. It is never more than Patience. said is false when
// no header says a time that can be read.
func After(h http.Header, now time.Time) (wait time.Duration, said bool) {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return capped(ms / 1000), true
	}
	value := h.Get("Retry-After")
	if seconds, ok := number(value); ok {
		return capped(seconds), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return capped(at.Sub(now).Seconds()), true
	}
	if m := left.FindStringSubmatch(h.Get("Ratelimit")); m != nil {
		if seconds, ok := number(m[1]); ok {
			return capped(seconds + 1), true
		}
	}
	return 0, false
}

func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, (err == nil || math.IsInf(n, 1)) && n >= 0
}

func capped(seconds float64) time.Duration {
	if seconds >= Patience.Seconds() {
		return Patience
	}
	return time.Duration(max(0, seconds) * float64(time.Second))
}

// Stay is a CheckRedirect for clients that send keys: it follows up to five
// redirects of a GET or HEAD within the same scheme, host and port. Any other
// redirect is left as the answer: net/http would send the keys on to another
// port, and turn a POST into a GET.
func Stay(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > 5, first.Method != http.MethodGet && first.Method != http.MethodHead,
		next.URL.Scheme != first.URL.Scheme, next.URL.Host != first.URL.Host:
		return http.ErrUseLastResponse
	}
	return nil
}

// Staying returns a client that follows redirects as Stay says.
func Staying(c *http.Client) *http.Client {
	one := *c
	one.CheckRedirect = Stay
	return &one
}

// Elsewhere says where an answer redirects to; "" when it does not. The query
// is left out, which may hold a signature.
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
