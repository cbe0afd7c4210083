package remote

import (
	"net/http"
	"testing"
	"time"
)

// Whatever a service asks for, the wait is from none to Patience.
func FuzzAfter(f *testing.F) {
	for _, v := range []string{"1", "3600", "1e12", "-5", "NaN", "Inf", "Fri, 31 Dec 1999 23:59:59 GMT", "0x1p9", "", "9223372036854775808", `"api";r=0;t=55`,
		";t=99999999999999999999"} {
		f.Add(v, v, v)
		f.Add("", v, "")
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, ms, after, limit string) {
		h := http.Header{}
		h.Set("Retry-After-Ms", ms)
		h.Set("Retry-After", after)
		h.Set("Ratelimit", limit)
		if wait := After(h, now); wait < 0 || wait > Patience {
			t.Fatalf("%q, %q, %q: %s", ms, after, limit, wait)
		}
	})
}
