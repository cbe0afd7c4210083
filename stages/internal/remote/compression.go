package remote

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/rollmill/rollmill/storage/fault"
)

// Decompress returns the content of a body with an encoding; what reads it as it comes
// reads the content as it comes.
func Decompress(encoding string, body io.ReadCloser) (io.ReadCloser, error) {
	var content io.Reader
	var err error
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		content, err = gzip.NewReader(body)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20)); err == nil {
			content = d.IOReadCloser()
		}
	default:
		return nil, fault.Permanent(fmt.Errorf("Content-Encoding %q is not supported: use gzip, zstd or identity", encoding))
	}
	if err != nil {
		return nil, fmt.Errorf("Content-Encoding %s: %w", encoding, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{content, body}, nil
}

// Uncompressed returns a transport that asks for answers without compression, so that they can be forwarded byte for byte,
// and decompresses those of gateways and services that compress unasked.
func Uncompressed(t http.RoundTripper) http.RoundTripper {
	if _, done := t.(uncompressed); done {
		return t
	}
	if t == nil {
		t = http.DefaultTransport
	}
	return uncompressed{t}
}

type uncompressed struct{ http.RoundTripper }

// CloseIdleConnections is for http.Client's method.
func (u uncompressed) CloseIdleConnections() {
	(&http.Client{Transport: u.RoundTripper}).CloseIdleConnections()
}

// RoundTrip is part of http.RoundTripper.
func (u uncompressed) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := *req
	if sent.Header = req.Header.Clone(); sent.Header == nil {
		sent.Header = http.Header{}
	}
	sent.Header.Set("Accept-Encoding", "identity")
	resp, err := u.RoundTripper.RoundTrip(&sent)
	if err != nil || resp.Header.Get("Content-Encoding") == "" || resp.Body == http.NoBody {
		return resp, err
	}
	body, err := Decompress(resp.Header.Get("Content-Encoding"), resp.Body)
	if err != nil {
		resp.Body.Close()
		return nil, fmt.Errorf("the answer: %w", err)
	}
	resp.Body, resp.ContentLength, resp.Request = body, -1, req
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	return resp, nil
}
