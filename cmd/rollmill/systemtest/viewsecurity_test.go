package systemtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// TestViewRefusesOthers sends what a page elsewhere, another user or a tool could
// send to a viewer, over a socket: nothing of the run comes back.
func TestViewRefusesOthers(t *testing.T) {
	dir := t.TempDir()
	root := storeOdd(t, dir)
	const secret = "outside the run"
	for _, at := range []string{filepath.Join(dir, "secret.json"), filepath.Join(dir, "beside", "_dataset.json")} {
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(secret), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	link, _ := serveView(t, root)
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	cookie := enter(t, at)
	const page = "/d/epoch-0%2Frollout/trajectories"
	for _, c := range []struct {
		name    string
		request string // the first line and headers; without a Host, the server's own is added
		status  int
	}{
		{"the page itself", "GET " + page + " HTTP/1.1\r\n" + cookie, 200},
		{"the page of the same origin", "GET " + page + " HTTP/1.1\r\nOrigin: http://" + at.Host + "\r\n" + cookie, 200},
		{"no token", "GET " + page + " HTTP/1.1\r\n", 403},
		{"a wrong token", "GET /?token=00 HTTP/1.1\r\n", 403},
		{"an empty token", "GET /?token= HTTP/1.1\r\n", 403},
		{"a cookie of another value", "GET " + page + " HTTP/1.1\r\n" + strings.TrimSuffix(cookie, "\r\n") + "0\r\n", 403},
		{"another host, such as a name that was made to resolve here", "GET " + page + " HTTP/1.1\r\nHost: evil.example:80\r\n" + cookie, 421},
		{"a host that begins like this one", "GET " + page + " HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n" + cookie, 421},
		{"another host with the token", "GET /?" + at.RawQuery + " HTTP/1.1\r\nHost: evil.example\r\n", 421},
		{"another host in the request line", "GET http://evil.example" + page + " HTTP/1.1\r\n" + cookie, 421},
		{"no host", "GET " + page + " HTTP/1.1\r\nHost: \r\n" + cookie, 421},
		{"another origin", "GET " + page + " HTTP/1.1\r\nOrigin: https://evil.example\r\n" + cookie, 403},
		{"another port of this machine", "GET " + page + " HTTP/1.1\r\nOrigin: http://127.0.0.1:1\r\n" + cookie, 403},
		{"an origin without a name", "GET " + page + " HTTP/1.1\r\nOrigin: null\r\n" + cookie, 403},
		{"a script's request from another site", "GET " + page + " HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n" + cookie, 403},
		{"POST", "POST / HTTP/1.1\r\nContent-Length: 0\r\n" + cookie, 405},
		{"PUT", "PUT " + page + " HTTP/1.1\r\nContent-Length: 0\r\n" + cookie, 405},
		{"DELETE", "DELETE " + page + " HTTP/1.1\r\n" + cookie, 405},
		{"TRACE", "TRACE / HTTP/1.1\r\n" + cookie, 405},
		{"a long query", "GET /?q=" + strings.Repeat("x", 10_000) + " HTTP/1.1\r\n" + cookie, 414},
		{"a long path", "GET /d/" + strings.Repeat("x", 10_000) + " HTTP/1.1\r\n" + cookie, 414},
		{"large headers", "GET / HTTP/1.1\r\nX-Large: " + strings.Repeat("x", 100_000) + "\r\n" + cookie, 431},
		{"many parameters", "GET /?" + many(500) + " HTTP/1.1\r\n" + cookie, 400},
		{"a query that is not one", "GET /?a=%zz HTTP/1.1\r\n" + cookie, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := send(t, at.Host, c.request)
			if status != c.status {
				t.Errorf("status %d, want %d:\n%s", status, c.status, body)
			}
			if status != 200 && (strings.Contains(body, "example-0000") || strings.Contains(body, at.Query().Get("token"))) {
				t.Errorf("the answer has data of the run, or the token:\n%s", body)
			}
		})
	}
	t.Run("traversal", func(t *testing.T) {
		for _, path := range traversals(dir) {
			status, body := send(t, at.Host, "GET "+path+" HTTP/1.1\r\n"+cookie)
			if status < 300 || status >= 500 || strings.Contains(body, secret) {
				t.Errorf("%s: status %d:\n%.300s", path, status, body)
			}
		}
	})
}

// traversals are addresses that a careless server would resolve to files outside
// the run.
func traversals(dir string) []string {
	out := []string{"/../secret.json", "/%2e%2e/secret.json", "/..%2fsecret.json", "//etc/passwd", "/static/../../secret.json", "/static/%2e%2e%2fsecurity.go",
		"/static/..%5c..%5csecret.json", "/static/", "/static/LICENSES", "/e/..%2f..%2fbeside", "/e/-1", "/e/999999999999999999999", "/e/0%00",
		"/diff?a=..%2Fbeside&b=epoch-0%2Fscore", "/search?d=..%2Fbeside&q=outside", "/d/epoch-0%2Frollout/t/..%2F..%2Fsecret.json",
		"/d/epoch-0%2Frollout/t/none", "/d/epoch-0%2Frollout/g/none", "/d/epoch-0%2Frollout/t/none/raw",
		"/d/epoch-0%2Frollout/t/none/message/99999999999999999999"}
	for _, key := range []string{"..", "../beside", "epoch-0/../../beside", "/etc", dir + "/beside", "file://" + dir + "/beside", "s3://bucket/key",
		"epoch-0/rollout/../rollout", "epoch-0/rollout\x00", `..\beside`, "", ".rollmill", "~.."} {
		for _, rest := range []string{"", "/groups", "/trajectories", "/t/x/raw"} {
			out = append(out, "/d/"+url.PathEscape(key)+rest)
		}
	}
	return out
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d=1&", i)
	}
	return b.String()
}

func dial(t *testing.T, host string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// send sends a request as it is, and returns the answer. Each answer must have the
// headers that keep pages apart.
func send(t *testing.T, host, request string) (status int, body string) {
	t.Helper()
	conn := dial(t, host)
	if !strings.Contains(request, "\r\nHost:") {
		request += "Host: " + host + "\r\n"
	}
	go io.WriteString(conn, request+"Connection: close\r\n\r\n") //nolint:errcheck // the server may answer before it has all
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)                      // a refused connection may be cut
	if resp.StatusCode != 431 && resp.StatusCode != 400 { // package http itself answers these
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || resp.Header.Get("X-Content-Type-Options") != "nosniff" ||
			resp.Header.Get("Referrer-Policy") != "no-referrer" || len(resp.Header.Values("Access-Control-Allow-Origin")) != 0 {
			t.Errorf("headers %v", resp.Header)
		}
	}
	return resp.StatusCode, string(data)
}

// enter opens the link and returns the header with the cookie that it got.
func enter(t *testing.T, link *url.URL) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(link.String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	set := resp.Header.Get("Set-Cookie")
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" || !strings.Contains(set, "HttpOnly") ||
		!strings.Contains(set, "SameSite=Strict") {
		t.Fatalf("status %d to %q, cookie %q", resp.StatusCode, resp.Header.Get("Location"), set)
	}
	value, _, _ := strings.Cut(set, ";")
	return "Cookie: " + value + "\r\n"
}

// TestViewListensOnlyHere checks which addresses view takes.
func TestViewListensOnlyHere(t *testing.T) {
	root := t.TempDir()
	if err := storeGroups(t, root, 0, randomtest.Trajectories(3, tiny)); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1", "127.0.0.1.evil.example:0"} {
		if code, out, stderr := rollmill(t, "view", root, "--listen", address); code != 2 || out != "" || !strings.Contains(stderr, "--listen") {
			t.Errorf("%s: exit code %d, %q, %s", address, code, out, stderr)
		}
	}
}

// TestViewEscapesEveryText opens the pages of rows, ids and files that hold HTML
// wherever text can be, and finds all of it escaped, also where a page repeats what
// a request says.
func TestViewEscapesEveryText(t *testing.T) {
	link, _ := serveView(t, storeOdd(t, t.TempDir()))
	v := viewAs(t, link)
	rollout := "/d/" + url.PathEscape("epoch-0/rollout")
	key := "/d/" + url.PathEscape("epoch-0/"+hostileName)
	text := url.QueryEscape(hostile)
	for _, c := range []struct {
		path, shows string // shows is escaped text that must be there
		status      int
	}{
		{"/", "&lt;img src=x", 200},
		{"/e/0", "&lt;img src=x", 200},
		{key, "&lt;img src=x", 200},
		{key + "/groups", "&lt;script", 200},
		{key + "/trajectories", "&lt;script", 200},
		{rollout + "/groups", "&lt;script", 200},
		{rollout + "/g/" + url.PathEscape(hostile+"@0"), "&lt;script", 200},
		{rollout + "/t/" + url.PathEscape("0"+hostile), "&lt;script", 200},
		{rollout + "/t/" + url.PathEscape("1"+hostile), "&lt;script", 200},
		{rollout + "/t/" + url.PathEscape("2"+hostile), "&lt;script", 200},
		{rollout + "/t/" + url.PathEscape("0"+hostile) + "/message/0", "&lt;script", 200},
		{rollout + "/t/" + url.PathEscape("0"+hostile) + "/raw", "", 200},
		{rollout + "/t/" + formats.TrajectoryID("view", oddRTL, 0, 0), "باريس", 200},
		{rollout + "/t/" + text, "&lt;script", 404},
		{"/d/" + text, "&lt;script", 404},
		{rollout + "/groups?where=" + text, "&lt;script", 200},
		{rollout + "/trajectories?sort=" + text, "&lt;script", 422},
		{rollout + "/trajectories?failure=" + text, "", 200},
		{"/search?d=" + url.QueryEscape("epoch-0/rollout") + "&q=" + url.QueryEscape("<script>"), "&lt;script", 200},
		{"/diff?a=" + text + "&b=" + text, "&lt;script", 404},
	} {
		t.Run(c.path[:min(len(c.path), 60)], func(t *testing.T) {
			status, kind, body := v.get(c.path)
			if status != c.status {
				t.Errorf("%s: status %d, want %d", c.path, status, c.status)
			}
			if strings.HasPrefix(kind, "text/html") {
				checkInert(t, body)
			}
			if !strings.Contains(body, c.shows) {
				t.Errorf("%s does not show %s", c.path, c.shows)
			}
		})
	}
}

// checkInert checks that a page, as a browser parses it, has no active element or
// attribute but the server's own scripts.
func checkInert(t *testing.T, page string) {
	t.Helper()
	if at := strings.IndexAny(page, "\u202e\u2066\u200b\x1b\x00"); at >= 0 {
		t.Errorf("a character that changes what is seen: %q", page[at:min(len(page), at+20)])
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc",
				a.Key == "src" && !strings.HasPrefix(value, "/static/") && !strings.HasPrefix(value, "data:image/"),
				a.Key == "href" && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "#") && !strings.HasPrefix(value, "?"),
				strings.HasPrefix(value, "javascript:"), strings.HasPrefix(value, "//"):
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
		switch n.Data {
		case "script":
			if n.FirstChild != nil {
				t.Errorf("a script in the page: %s", n.FirstChild.Data)
			}
		case "iframe", "object", "embed", "style", "base", "applet", "math":
			t.Errorf("<%s>", n.Data)
		}
	}
}
