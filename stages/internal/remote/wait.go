package remote

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Patience is the longest wait before the next try that a service can ask for. A larger one, an
// hour or 1e12 seconds, is reduced to it: the client's own limits decide how often it tries.
const Patience = time.Minute

var left = regexp.MustCompile(`(?:^|;)\s*t=(\d+)`)

// After returns how long a service asks a client to wait: Retry-After-Ms in milliseconds,
// Retry-After in seconds or as a date, or the hub's Ratelimit: "api";r=0;t=55. It is at most
// Patience, and 0 if no header has a readable time.
func After(h http.Header, now time.Time) time.Duration {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return capped(ms / 1000)
	}
	value := h.Get("Retry-After")
	if seconds, ok := number(value); ok {
		return capped(seconds)
	}
	if at, err := http.ParseTime(value); err == nil {
		return capped(at.Sub(now).Seconds())
	}
	if m := left.FindStringSubmatch(h.Get("Ratelimit")); m != nil {
		if seconds, ok := number(m[1]); ok {
			return capped(seconds + 1)
		}
	}
	return 0
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
