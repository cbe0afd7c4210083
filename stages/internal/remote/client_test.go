package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func serve(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

func TestSecretsAreRedacted(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"error":"no such key: `+r.Header.Get("Authorization")+`"}`)
	})
	c := Client{Name: "here", Secrets: []string{"", "hush"}, Sign: func(r *http.Request) { r.Header.Set("Authorization", "hush") }}
	_, err := c.Do(t.Context(), Request{URL: s.URL + "/a?signature=s3cret"}, nil)
	if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "s3cret") || Status(err) != 403 {
		t.Error(err)
	}
	if _, err = (&Client{}).Do(t.Context(), Request{URL: s.URL + "/a"}, nil); err == nil || !strings.HasPrefix(err.Error(), "GET "+s.URL) {
		t.Errorf("of a client without a name: %v", err)
	}
	s.Close()
	_, err = c.Do(t.Context(), Request{URL: s.URL + "/a?signature=s3cret"}, nil)
	if err == nil || strings.Contains(err.Error(), "s3cret") || Status(err) != 0 {
		t.Error(err)
	}
}

func TestWhatIsBusyIsAskedAgain(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch asked++; asked {
		case 1:
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		default:
			io.WriteString(w, `{"a":1}`)
		}
	})
	var answer struct{ A int }
	if err := (&Client{}).Get(t.Context(), s.URL, &answer); err != nil || answer.A != 1 || asked != 3 {
		t.Errorf("%+v, %v after %d", answer, err, asked)
	}
	asked = 0
	if err := (&Client{}).Post(t.Context(), s.URL, 1, nil); Status(err) != 429 || asked != 1 {
		t.Errorf("%v after %d", err, asked)
	}
}

func TestWhatIsRefusedIsNotAskedAgain(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { asked++; w.WriteHeader(http.StatusNotFound) })
	if err := (&Client{}).Get(t.Context(), s.URL, nil); Status(err) != 404 || asked != 1 {
		t.Errorf("%v after %d", err, asked)
	}
}

func TestTheLimitIsNamed(t *testing.T) {
	stop := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { <-stop })
	defer close(stop)
	_, err := (&Client{}).Do(t.Context(), Request{URL: s.URL, Limit: time.Millisecond}, nil)
	if err == nil || !strings.Contains(err.Error(), "no answer within 1ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Client{}).Get(ctx, s.URL, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestUnsent is true of a connection that was refused, and false of one that
// broke.
func TestUnsent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for _, unsent := range []bool{false, true} {
		var e *Error
		if err := (&Client{}).Post(t.Context(), s.URL, 1, nil); !errors.As(err, &e) || e.Unsent != unsent {
			t.Errorf("%v, want %t", err, unsent)
		}
		s.Close()
	}
}

func TestAClientsOwnLimits(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20+1)) })
	_, err := (&Client{MaxBytes: 1 << 20}).Do(t.Context(), Request{URL: s.URL, Limit: -1}, nil)
	var large TooLargeError
	if !errors.As(err, &large) || large != 1<<20 {
		t.Error(err)
	}
}

func TestAnswersInTheWordsOfEachService(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"no","param":"model"}}`:  "no (model)",
		`{"error":"not here"}`:                        "not here",
		`{"detail":"gone"}`:                           "gone",
		`{"detail":[{"loc":["body"],"msg":"field"}]}`: `[{"loc":["body"],"msg":"field"}]`,
		`{"error":null}`:                              "in the header",
		`plain`:                                       "in the header",
	} {
		if got := Text(http.Header{"X-Error-Message": {"in the header"}}, []byte(body)); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	if got := Text(nil, []byte(" plain\n")); got != "plain" {
		t.Error(got)
	}
}

func TestARedirectIsNamedAndNotFollowed(t *testing.T) {
	asked := 0
	other := serve(t, func(http.ResponseWriter, *http.Request) { asked++ })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/a?sig=s3cret", http.StatusPermanentRedirect)
	})
	c := Client{Sign: func(r *http.Request) { r.Header.Set("Authorization", "hush") }}
	for _, q := range []Request{{URL: s.URL}, {URL: s.URL, Method: http.MethodPost, JSON: 1}} {
		_, err := c.Do(t.Context(), q, nil)
		if err == nil || !strings.Contains(err.Error(), "redirects to "+other.URL+"/a, which is not followed") || !Unsure(err) || asked != 0 {
			t.Errorf("%v, %d", err, asked)
		}
	}
}

func TestAnAnswerThatIsTooLargeIsAnError(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		piece := make([]byte, 1<<20)
		for range MaxAnswer>>20 + 8 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	var data []byte
	if _, err := (&Client{}).Do(t.Context(), Request{URL: s.URL}, &data); err == nil || !strings.Contains(err.Error(), "larger than 32 MiB") {
		t.Errorf("%v, %d bytes", err, len(data))
	}
}

func TestWhatMayHaveHadItsEffect(t *testing.T) {
	for code, unsure := range map[int]bool{0: true, 400: false, 404: false, 408: true, 409: true, 413: false, 422: false, 425: true, 429: true, 499: true,
		500: true, 503: true} {
		if Unsure(&Error{Status: code}) != unsure {
			t.Error(code)
		}
	}
	if Unsure(nil) {
		t.Error("nil")
	}
}
