package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/page"
)

const (
	tokenParameter = "token"

	maxHeaders = 16 << 10 // bytes
	maxQuery   = 4 << 10  // bytes of a path or a query
	maxPairs   = 64       // parameters
)

// policy allows what the server itself sends, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Listen returns a listener at a loopback address. host:0 takes any free port.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !loopback(host) {
		return nil, fmt.Errorf("the viewer listens only at 127.0.0.1, [::1] or localhost, not at %q", host)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if tcp, is := l.Addr().(*net.TCPAddr); !is || !tcp.IP.IsLoopback() { // localhost may resolve to another address
		return nil, errors.Join(fmt.Errorf("%q is not a loopback address", l.Addr()), l.Close())
	}
	return l, nil
}

// loopback reports whether a host is this machine: by an address or the name
// localhost, and not by a name that a DNS server resolves.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() && addr.Zone() == ""
}

// Handler returns the handler of all pages, which lets only this machine's user in.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle("GET "+r.path, s.serve(r))
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, missing("no page at this address")) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pageTime)); err != nil {
			s.log.Debug("no write deadline", "error", err)
		}
		if err := check(r); err != nil {
			s.fail(w, r, err)
			return
		}
		if strings.HasPrefix(r.URL.Path, page.StaticPath) {
			s.static.Serve(w, r) // the same for everybody
			return
		}
		if given := r.URL.Query().Get(tokenParameter); given != "" {
			s.enter(w, r, given)
			return
		}
		if c, err := r.Cookie(s.cookie()); err != nil || !s.known(c.Value) {
			s.fail(w, r, refused(http.StatusForbidden, "this browser has no access",
				"open the link that rollmill view printed: it contains a token; if this browser did, load the page again"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// secure sets the headers of every response.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// check refuses what no page of the viewer sends. A page elsewhere whose name was
// made to resolve to this machine sends its own name as Host; one on another port of
// this machine sends another Origin, or another Sec-Fetch-Site.
func check(r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refused(http.StatusMethodNotAllowed, "the viewer only answers GET and HEAD", "")
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(r.Host); err == nil {
		host = name
	}
	if !loopback(host) {
		return refused(http.StatusMisdirectedRequest, fmt.Sprintf("the viewer does not answer to the host %q", host),
			"use the link that rollmill view printed")
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return refused(http.StatusForbidden, "the request comes from another origin", "")
	}
	if elsewhereBegan(r) && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return refused(http.StatusForbidden, "the request comes from another site", "")
	}
	if len(r.URL.RawQuery) > maxQuery || len(r.RequestURI) > 2*maxQuery {
		return refused(http.StatusRequestURITooLong, "the address is too long",
			fmt.Sprintf("a query may have %d bytes", maxQuery))
	}
	if values, err := url.ParseQuery(r.URL.RawQuery); err != nil || len(values) > maxPairs {
		return refused(http.StatusBadRequest, "the address has a query that cannot be read", "")
	}
	return nil
}
