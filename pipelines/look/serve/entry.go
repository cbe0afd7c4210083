package serve

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/page"
)

// enter gives a browser that has the token a cookie, and leads it to the same page
// without the token.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, given string) {
	if !s.known(given) {
		s.fail(w, r, refused(http.StatusForbidden, "the token is wrong",
			"open the link that this rollmill view printed; each start has another token"))
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.token, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	rest := r.URL.Query()
	rest.Del(tokenParameter)
	to := "/" + strings.TrimLeft(r.URL.EscapedPath(), "/") // //host/ names another host
	if q := rest.Encode(); q != "" {
		to += "?" + q
	}
	if !elsewhereBegan(r) {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	w.Header().Set("Refresh", "0;url="+to) // a request of this page has the cookie; a redirect would not
	model := struct {
		Frame
		To string
	}{Frame{Title: "Rollmill"}, to}
	if err := s.render(w, "enter", http.StatusOK, model); err != nil {
		s.fail(w, r, err)
	}
}

// elsewhereBegan reports whether another site led the browser here, by a link in a mail or
// a file. The browser then sends no SameSite=Strict cookie.
func elsewhereBegan(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

func (s *Server) known(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// cookie returns the cookie's name. Browsers send a cookie to all ports of a host,
// so that each server needs another name.
func (s *Server) cookie() string { return "rollmill-view-" + page.Digest([]byte(s.token)) }
