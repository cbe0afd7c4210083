package remote

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestWaitsAreReadAndCapped(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", " 0.5 ", 500 * time.Millisecond},
		{"Retry-After", "0", 0},
		{"Retry-After", "3600", Patience},
		{"Retry-After", "1e12", Patience},
		{"Retry-After", "1e999", Patience},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "-1", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "", 0},
		{"Retry-After", now.Add(10 * time.Second).Format(http.TimeFormat), 10 * time.Second},
		{"Retry-After", now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"Retry-After", now.AddDate(50, 0, 0).Format(http.TimeFormat), Patience},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After-Ms", "1e12", Patience},
		{"Ratelimit", `"api";r=0;t=5`, 6 * time.Second},
		{"Ratelimit", `"api";r=0;t=99999999999999999999`, Patience},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := After(h, now); got != c.want {
			t.Errorf("%s: %s: %s", c.name, c.value, got)
		}
	}
}

func TestARedirectElsewhereGetsNoKey(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			http.Redirect(w, r, other.URL+"/x?sig=1", http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/same":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
	}))
	defer here.Close()
	c := Staying(http.DefaultClient)
	for _, q := range []struct {
		method, path string
		want         int
	}{{"GET", "/there", 307}, {"POST", "/there", 307}, {"GET", "/here", 200}, {"POST", "/here", 302}, {"POST", "/same", 200}, {"GET", "/loop", 302}} {
		r, _ := http.NewRequest(q.method, here.URL+q.path, nil)
		r.Header.Set("Authorization", "Bearer hush")
		resp, err := c.Do(r)
		if err != nil || resp.StatusCode != q.want {
			t.Fatalf("%s %s: %v %v", q.method, q.path, resp, err)
		}
		resp.Body.Close()
		if to := Elsewhere(resp); (to == "") != (q.want == 200) || q.path == "/there" && to != other.URL+"/x" {
			t.Errorf("%s %s: to %q", q.method, q.path, to)
		}
	}
	if asked != 0 {
		t.Errorf("the other port was asked %d times", asked)
	}
}
