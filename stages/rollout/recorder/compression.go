package recorder

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// decompress returns the content of a body with an encoding; what reads it as it comes
// reads the content as it comes.
func decompress(encoding string, body io.ReadCloser) (io.ReadCloser, error) {
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
		return nil, fmt.Errorf("Content-Encoding %q is not supported: use gzip, zstd or identity", encoding)
	}
	if err != nil {
		return nil, fmt.Errorf("Content-Encoding %s: %w", encoding, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{content, body}, nil
}

// uncompressed asks engines for answers without compression, so that they are forwarded
// byte for byte, and decompresses those of gateways that compress unasked.
type uncompressed struct{ *http.Transport }

func (u uncompressed) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := *req
	if sent.Header = req.Header.Clone(); sent.Header == nil {
		sent.Header = http.Header{}
	}
	sent.Header.Set("Accept-Encoding", "identity")
	resp, err := u.Transport.RoundTrip(&sent)
	if err != nil || resp.Header.Get("Content-Encoding") == "" || resp.ContentLength == 0 {
		return resp, err
	}
	body, err := decompress(resp.Header.Get("Content-Encoding"), resp.Body)
	if err != nil {
		resp.Body.Close()
		return nil, fmt.Errorf("the engine's answer: %w", err)
	}
	resp.Body, resp.ContentLength, resp.Request = body, -1, req
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	return resp, nil
}

// readRequest returns the content of an agent's request; if it cannot, it answers the
// agent and returns false.
func readRequest(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	content, err := decompress(r.Header.Get("Content-Encoding"), r.Body)
	if err != nil {
		writeError(w, http.StatusUnsupportedMediaType, "invalid_request_error", "reading the request: "+err.Error())
		return nil, false
	}
	size := r.ContentLength
	if content != r.Body {
		size = -1
	}
	if body, err = readAll(new(bytes.Buffer), content, size, maxRequest); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", "reading the request: "+err.Error())
		return nil, false
	}
	return body, true
}
