package remote

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// TestRetry has errors that pass and errors that do not. A wait that a service
// asks for comes in place of the usual one, which would be endless here.
func TestRetry(t *testing.T) {
	plain, lasting := errors.New("plain"), errors.New("lasting")
	for name, c := range map[string]struct {
		first time.Duration
		fails error
		tries int
	}{
		"what may pass":        {time.Millisecond, plain, 4},
		"permanent":            {time.Hour, fault.Permanent(lasting), 1},
		"a refusal":            {time.Hour, &Error{Status: 400}, 1},
		"a busy service":       {time.Millisecond, &Error{Retry: true}, 4},
		"a wait of an error":   {time.Hour, &Error{Retry: true, After: time.Millisecond}, 4},
		"a wait of the header": {time.Hour, RetryAfter(plain, http.Header{"Retry-After-Ms": {"1"}}), 4},
		"no wait":              {time.Millisecond, RetryAfter(plain, http.Header{"Retry-After": {"0"}}), 4},
	} {
		tries := 0
		_, err := Retry(t.Context(), 4, c.first, func() (int, error) { tries++; return 0, c.fails })
		if tries != c.tries || err == nil || err.Error() != c.fails.Error() {
			t.Errorf("%s: %v after %d tries", name, err, tries)
		}
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	_, err := Retry(ctx, 4, time.Hour, func() (int, error) { cancel(stopped); return 0, errors.New("busy") })
	if !errors.Is(err, stopped) {
		t.Error(err)
	}
}
