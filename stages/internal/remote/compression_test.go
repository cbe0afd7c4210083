package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestCompressedUnasked: whatever client is used, no compression is asked for, and what comes compressed all the same is
// read; an unknown encoding is named and not asked for again.
func TestCompressedUnasked(t *testing.T) {
	for _, encoding := range []string{"", "gzip", "zstd", "br"} {
		asked := 0
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			if accepts := r.Header.Get("Accept-Encoding"); accepts != "identity" {
				t.Errorf("it asks for %q", accepts)
			}
			if r.Method == http.MethodHead {
				w.Header().Set("Content-Encoding", encoding)
				return
			}
			status := http.StatusOK
			if r.URL.Path == "/refused" {
				status = http.StatusTeapot
			}
			var buf bytes.Buffer
			var to io.WriteCloser = gzip.NewWriter(&buf)
			switch encoding {
			case "zstd":
				to, _ = zstd.NewWriter(&buf)
			case "":
				w.WriteHeader(status)
				io.WriteString(w, `{"A":1,"message":"so it is"}`)
				return
			}
			io.WriteString(to, `{"A":1,"message":"so it is"}`)
			to.Close()
			w.Header().Set("Content-Encoding", encoding)
			w.WriteHeader(status)
			w.Write(buf.Bytes())
		})
		for name, client := range map[string]*http.Client{"default": nil, "own": NewHTTP(1), "staying": Staying(&http.Client{Transport: &http.Transport{}})} {
			c := Client{HTTP: client}
			var answer struct{ A int }
			asked = 0
			err := c.Get(t.Context(), s.URL, &answer)
			if encoding == "br" {
				if err == nil || !strings.Contains(err.Error(), `Content-Encoding "br" is not supported`) || asked != 1 {
					t.Errorf("%s: %v after %d", name, err, asked)
				}
				continue
			}
			if err != nil || answer.A != 1 {
				t.Errorf("%s, %s: %+v, %v", encoding, name, answer, err)
			}
			if _, err := c.Do(t.Context(), Request{URL: s.URL + "/refused"}, nil); err == nil || !strings.Contains(err.Error(), "so it is") {
				t.Errorf("%s, %s: %v", encoding, name, err)
			}
			if _, err := c.Do(context.Background(), Request{Method: http.MethodHead, URL: s.URL}, nil); err != nil {
				t.Errorf("%s, %s: %v", encoding, name, err)
			}
		}
	}
}
