package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"unicode/utf8"
)

// answering is a service that answers everything alike.
type answering struct {
	status int
	body   []byte
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a.body)),
		Request: r}, nil
}

// Whatever a service answers, it is decoded or an error of a bounded length
// with the status.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{`{"id":"j-1","status":"running"}`, `{"error":{"message":"no","param":"x"}}`, `{"detail":[{"msg":"no"}]}`, `{"detail":"no"}`,
		`{"error":"no"}`, "<html>", "\xff", "", "null", "[[["} {
		f.Add(200, []byte(body))
		f.Add(422, []byte(body))
		f.Add(301, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		c := &Client{HTTP: &http.Client{Transport: answering{status, body}}}
		var answer struct {
			ID     string
			Status string
			Data   []map[string]any
		}
		_, err := c.Do(context.Background(), Request{URL: "http://service.test/v1/jobs"}, &answer)
		if status/100 != 2 && err == nil {
			t.Fatalf("status %d is no error", status)
		}
		if e := (*Error)(nil); err != nil && errors.As(err, &e) && (len(err.Error()) > 4000 || status/100 == 4 && e.Status != status) {
			t.Fatalf("status %d: an error of %d bytes with status %d", status, len(err.Error()), e.Status)
		}
		if text := Text(http.Header{}, body); len(text) > len(body) && len(text) > 2000 || utf8.Valid(body) && !utf8.ValidString(text) && len(body) <= 500 {
			t.Fatalf("%q says %q", body, text)
		}
	})
}
