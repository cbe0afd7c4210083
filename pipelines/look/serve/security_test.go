package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rollmill/rollmill/pipelines/look/page"
)

func TestOnlyTheLinkLetsABrowserIn(t *testing.T) {
	root := t.TempDir()
	writeRollout(t, root+"/epoch-0/rollout", 2)
	s := serve(t, root)
	stranger := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]int{
		"/": 403, "/e/0": 403, "/d/epoch-0%2Frollout": 403, "/nothing": 403, "/d/epoch-0%2Frollout/live": 403,
		"/?token=": 403, "/?token=x": 403, "/?token=" + strings.Repeat("0", 48): 403, "/e/0?token=x": 403,
		strings.TrimPrefix(s.link, s.base): 303,
	} {
		answer, err := stranger.Get(s.base + path)
		if err != nil {
			t.Fatal(err)
		}
		page := body(t, answer)
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
		if want == 403 && (strings.Contains(page, "epoch-0") || answer.Header.Get("Set-Cookie") != "") {
			t.Errorf("%s: the refusal says what is there, or sets a cookie", path)
		}
		if want == 303 {
			cookie := answer.Header.Get("Set-Cookie")
			if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || answer.Header.Get("Location") != "/" {
				t.Errorf("cookie %q, location %q", cookie, answer.Header.Get("Location"))
			}
		}
	}
	led := s.raw("GET " + strings.TrimPrefix(s.link, s.base) + " HTTP/1.1\nHost: 127.0.0.1\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\n\n")
	if page := body(t, led); led.StatusCode != 200 || led.Header.Get("Refresh") != "0;url=/" || led.Header.Get("Set-Cookie") == "" ||
		strings.Contains(page, s.server.token) {
		t.Errorf("from a link in a mail: %d, %v\n%s", led.StatusCode, led.Header, page)
	}
	token := tokenParameter + "=" + s.server.token
	for path, want := range map[string]string{
		"/d/epoch-0%2Frollout/groups?sort=-mean&" + token: "/d/epoch-0%2Frollout/groups?sort=-mean",
		"/d/epoch-0%2Frollout?" + token:                   "/d/epoch-0%2Frollout",
		"//evil.example/e/0?" + token:                     "/evil.example/e/0", // another host, for a browser
		`/\evil.example?` + token:                         "/%5Cevil.example",
	} {
		for sent, header := range map[string]string{"Location": "", "Refresh": "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\n"} {
			answer := s.raw("GET " + path + " HTTP/1.1\nHost: 127.0.0.1\n" + header + "\n")
			body(t, answer)
			if got := strings.TrimPrefix(answer.Header.Get(sent), "0;url="); got != want {
				t.Errorf("%s: %s leads to %q, not to %q", path, sent, got, want)
			}
		}
	}
	if answer, err := s.client.Get(s.base + "/d/epoch-0%2Frollout/groups?" + token); err != nil || !strings.Contains(body(t, answer), "rollout: groups") {
		t.Errorf("a page's link with the token does not open the page: %v", err)
	}
	if page := s.page("/"); strings.Contains(page, s.server.token) {
		t.Error("a page has the token")
	}
	other := serve(t, root)
	request, err := http.NewRequest(http.MethodGet, other.base+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", s.cookie())
	if answer, err := stranger.Do(request); err != nil || answer.StatusCode != 403 {
		t.Errorf("the cookie of another server: %v, %v", answer.StatusCode, err)
	}
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	root := t.TempDir()
	writeRollout(t, root+"/epoch-0/rollout", 1)
	s := serve(t, root)
	port := s.base[strings.LastIndexByte(s.base, ':'):]
	for _, c := range []struct {
		host, headers string
		want          int
	}{
		{"127.0.0.1" + port, "", 200},
		{"localhost" + port, "", 200},
		{"[::1]" + port, "", 200},
		{"127.0.0.1" + port, "Origin: http://127.0.0.1" + port + "\n", 200},
		{"evil.example" + port, "", 421}, // its name was made to resolve to this machine
		{"evil.example", "", 421},
		{"localhost.evil.example" + port, "", 421},
		{"127.0.0.1.evil.example" + port, "", 421},
		{"0.0.0.0" + port, "", 421},
		{"169.254.169.254", "", 421},
		{"", "", 421},
		{"127.0.0.1" + port, "Origin: http://evil.example\n", 403},
		{"127.0.0.1" + port, "Origin: http://127.0.0.1:1\n", 403},
		{"127.0.0.1" + port, "Origin: null\n", 403},
		{"127.0.0.1" + port, "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors\n", 403},
		{"127.0.0.1" + port, "Sec-Fetch-Site: same-site\nSec-Fetch-Mode: cors\n", 403}, // another port of this machine
		{"127.0.0.1" + port, "Sec-Fetch-Site: same-origin\nSec-Fetch-Mode: cors\n", 200},
	} {
		answer := s.raw(fmt.Sprintf("GET / HTTP/1.1\nHost: %s\n%sCookie: %s\n\n", c.host, c.headers, s.cookie()))
		if answer.StatusCode != c.want {
			t.Errorf("host %q, %q: %d, want %d", c.host, c.headers, answer.StatusCode, c.want)
		}
		if answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("another origin may read the response")
		}
	}
}

func TestOnlyLoopbackIsBound(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1", "127.0.0.1.nip.io:0"} {
		if l, err := Listen(address); err == nil {
			l.Close()
			t.Errorf("%s is bound", address)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

func TestMethodsAndSizesAreBounded(t *testing.T) {
	root := t.TempDir()
	writeRollout(t, root+"/epoch-0/rollout", 1)
	s := serve(t, root)
	for _, c := range []struct {
		line string
		want int
	}{
		{"HEAD /", 200}, {"POST /", 405}, {"PUT /d/epoch-0%2Frollout", 405}, {"DELETE /", 405}, {"OPTIONS /", 405}, {"TRACE /", 405}, {"CONNECT /", 405},
		{"GET /?q=" + strings.Repeat("a", 5000), 414},
		{"GET /" + strings.Repeat("a", 9000), 414},
		{"GET /?" + strings.Repeat("a&b;", 300), 400},
		{"GET /?a=%zz", 400},
		{"GET /?" + manyPairs(100), 400},
	} {
		answer := s.raw(c.line + " HTTP/1.1\nHost: 127.0.0.1\nCookie: " + s.cookie() + "\n\n")
		if answer.StatusCode != c.want {
			t.Errorf("%.60s: %d, want %d", c.line, answer.StatusCode, c.want)
		}
		if c.want == 405 && answer.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: allows %q", c.line, answer.Header.Get("Allow"))
		}
	}
	if answer := s.raw("GET / HTTP/1.1\nHost: 127.0.0.1\nX-Long: " + strings.Repeat("a", 40_000) + "\n\n"); answer.StatusCode != 431 {
		t.Errorf("long headers: %d", answer.StatusCode)
	}
}

func manyPairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "p%d=1&", i)
	}
	return strings.TrimSuffix(b.String(), "&")
}

// TestNothingOutsideTheRunIsServed puts a secret beside the run and in its folder.
func TestNothingOutsideTheRunIsServed(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "run")
	writeRollout(t, root+"/epoch-0/rollout", 1)
	writeRollout(t, dir+"/other/epoch-0/rollout", 1)
	const secret = "TOP-SECRET"
	for _, name := range []string{dir + "/secret.json", root + "/secret.txt", root + "/epoch-0/secret.json"} {
		if err := os.WriteFile(name, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, root)
	for _, path := range []string{
		"/../secret.json", "/d/..%2Fother%2Fepoch-0%2Frollout", "/d/../../other", "/d/%2e%2e%2fsecret.json", "/d/..", "/d/~..", "/d/.", "/d/%00",
		"/d/%2Fetc", "/d/file:%2F%2F%2Fetc", "/d/secret.txt", "/d/epoch-0%2Fsecret.json", "/d/epoch-0", "/d/epoch-0%2Frollout%2F", "/d/epoch-0%2F.%2Frollout",
		"/d/epoch-0%2Frollout%2F_dataset.json", "/d/epoch-0%2F..%2Fepoch-0%2Frollout", "/d/epoch-0%5Crollout", "/d/s3:%2F%2Fbucket",
		"/static/../secret.txt", "/static/..%2f..%2fserver.go", "/static/", "/static/LICENSES", "/static/x/style.css", "/secret.txt", "//etc/passwd",
		"/e/..%2F..", "/e/-1", "/e/99999999999999999999",
	} {
		answer := s.raw("GET " + path + " HTTP/1.1\nHost: 127.0.0.1\nCookie: " + s.cookie() + "\n\n")
		if page := body(t, answer); answer.StatusCode < 300 || answer.StatusCode >= 500 || strings.Contains(page, secret) {
			t.Errorf("%s: %d\n%s", path, answer.StatusCode, page)
		}
	}
}

// TestPagesCanRunNothing checks the headers of pages, errors and static files, and that
// the pages have nothing inline.
func TestPagesCanRunNothing(t *testing.T) {
	root := filepath.Join(t.TempDir(), `a<script>alert(1)</script>"b`)
	writeRollout(t, root+"/epoch-0/rollout", 1)
	writeRollout(t, root+"/epoch-0/<img src=x onerror=alert(1)>", 1)
	s := serve(t, root)
	for _, path := range []string{"/", "/e/0", "/d/epoch-0%2Frollout", "/d/epoch-0%2F%3Cimg%20src=x%20onerror=alert(1)%3E", "/nothing"} {
		answer, err := s.client.Get(s.base + path)
		if err != nil {
			t.Fatal(err)
		}
		page := body(t, answer)
		checkInert(t, path, page)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Content-Type": "text/html; charset=utf-8", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		for _, m := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(page, -1) {
			file, err := s.client.Get(s.base + m[1])
			if err != nil {
				t.Fatal(err)
			}
			if file.StatusCode != 200 || !strings.Contains(file.Header.Get("Cache-Control"), "immutable") ||
				file.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d, %v", m[1], file.StatusCode, file.Header)
			}
			body(t, file)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Error("the policy allows more than the server's own")
	}
}

// checkInert checks that a page has nothing inline that runs, and requests nothing from
// elsewhere.
func checkInert(t *testing.T, path, shown string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(shown))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(shown, "ZgotmplZ") {
		t.Errorf("%s has a value that the template refused", path)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if (n.Data == "script" || n.Data == "style") && n.FirstChild != nil || n.Data == "iframe" || n.Data == "object" || n.Data == "base" {
			t.Errorf("%s has an element %s: %v", path, n.Data, n.Attr)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"), a.Key == "style":
				t.Errorf("%s: %s has an attribute %s", path, n.Data, a.Key)
			case a.Key == "href" || a.Key == "hx-get" || a.Key == "action":
				if !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "//") {
					t.Errorf("%s: %s leads to %q", path, n.Data, a.Val)
				}
			case (a.Key == "src" || a.Key == "srcset") && !strings.HasPrefix(a.Val, page.StaticPath) && !strings.HasPrefix(a.Val, "data:image/"):
				t.Errorf("%s: %s requests %.80q", path, n.Data, a.Val)
			}
		}
	}
}
