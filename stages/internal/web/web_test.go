package web

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
		said        bool
	}{
		{"Retry-After", "3", 3 * time.Second, true},
		{"Retry-After", " 0.5 ", 500 * time.Millisecond, true},
		{"Retry-After", "0", 0, true},
		{"Retry-After", "3600", Patience, true},
		{"Retry-After", "1e12", Patience, true},
		{"Retry-After", "1e999", Patience, true},
		{"Retry-After", "NaN", 0, false},
		{"Retry-After", "-1", 0, false},
		{"Retry-After", "soon", 0, false},
		{"Retry-After", "", 0, false},
		{"Retry-After", now.Add(10 * time.Second).Format(http.TimeFormat), 10 * time.Second, true},
		{"Retry-After", now.Add(-time.Hour).Format(http.TimeFormat), 0, true},
		{"Retry-After", now.AddDate(50, 0, 0).Format(http.TimeFormat), Patience, true},
		{"Retry-After-Ms", "250", 250 * time.Millisecond, true},
		{"Retry-After-Ms", "1e12", Patience, true},
		{"Ratelimit", `"api";r=0;t=5`, 6 * time.Second, true},
		{"Ratelimit", `"api";r=0;t=99999999999999999999`, Patience, true},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got, said := After(h, now); got != c.want || said != c.said {
			t.Errorf("%s: %s: %s, %t", c.name, c.value, got, said)
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
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
	}))
	defer here.Close()
	c := Staying(http.DefaultClient)
	for _, q := range []struct {
		method, path string
		want         int
	}{{"GET", "/there", 307}, {"POST", "/there", 307}, {"GET", "/here", 200}, {"POST", "/here", 302}, {"GET", "/loop", 302}} {
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
