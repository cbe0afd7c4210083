package remote

import (
	"context"
	"errors"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// Retry calls do up to so many times, until it succeeds or fails permanently: see
// fault.Retry. Pauses are up to 64 times the first. An error is retried, unless it is
// permanent (fault.Permanent) or an *Error without Retry.
func Retry[T any](ctx context.Context, tries uint, first time.Duration, do func() (T, error)) (T, error) {
	return fault.Retry(ctx, fault.Policy{Tries: tries, First: first, Most: 64 * first}, func() (T, error) {
		out, err := do()
		var e *Error
		switch {
		case !errors.As(err, &e):
		case !e.Retry:
			err = fault.Permanent(err)
		default:
			err = fault.After(err, e.After)
		}
		return out, err
	})
}

// RetryAfter returns err so that Retry waits before the next try for as long as
// the headers of an answer ask for, if they do.
func RetryAfter(err error, h http.Header) error { return fault.After(err, After(h, time.Now())) }

// Again repeats an idempotent call while an *Error says that it may succeed
// later. It returns the last error of do.
func Again(ctx context.Context, do func() error) error {
	const tries, first = 5, 200 * time.Millisecond
	var last error
	_, err := Retry(ctx, tries, first, func() (struct{}, error) {
		last = do()
		if e := (*Error)(nil); last != nil && (ctx.Err() != nil || !errors.As(last, &e)) {
			return struct{}{}, fault.Permanent(last)
		}
		return struct{}{}, last
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

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
