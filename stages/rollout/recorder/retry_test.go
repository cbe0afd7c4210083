package recorder

import (
	"net/http"
	"testing"
)

// Whatever an engine asks for, the wait is within bounds.
func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"3600", "1e12", "-1", "NaN", "Inf", "0.5", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 9999 07:28:00 GMT", ""} {
		f.Add(v, v)
	}
	f.Fuzz(func(t *testing.T, seconds, ms string) {
		h := http.Header{"Retry-After": {seconds}, "Retry-After-Ms": {ms}}
		if wait, ok := retryAfter(h); wait < 0 || wait > maxRetryAfter || !ok && wait != 0 {
			t.Fatalf("%q, %q: wait %s, %v", seconds, ms, wait, ok)
		}
	})
}
