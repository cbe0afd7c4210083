package rewardtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Compressing starts a gateway before a service that compresses every answer, although nobody asks for that: it fails the
// test if somebody does. It returns the gateway's URL.
func Compressing(t *testing.T, service, encoding string) string {
	t.Helper()
	to, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			if asks := r.In.Header.Get("Accept-Encoding"); asks != "identity" {
				t.Errorf("it asks for %q", asks)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			var out bytes.Buffer
			var w io.WriteCloser = gzip.NewWriter(&out)
			if encoding == "zstd" {
				w, _ = zstd.NewWriter(&out)
			}
			if _, err := io.Copy(w, r.Body); err != nil {
				return err
			}
			r.Body.Close()
			err := w.Close()
			r.Body, r.ContentLength = io.NopCloser(&out), int64(out.Len())
			r.Header.Set("Content-Length", strconv.Itoa(out.Len()))
			r.Header.Set("Content-Encoding", encoding)
			return err
		},
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL + to.Path
}
