package recorder

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rollmill/rollmill/formats"
)

// statusError turns an engine's error answer into a try's error: one that may
// pass, or a refusal.
func statusError(r *reply) error {
	text := fmt.Sprintf("HTTP %d: %s", r.status, errorText(r.body))
	try := &tryError{reply: r, err: errors.New(text)}
	if passing(r.status) {
		r.failure = &Failure{formats.FailEngine, text}
		if wait, ok := retryAfter(r.header); ok {
			try.after = &backoff.RetryAfterError{Duration: wait}
		}
		return try
	}
	r.failure = &Failure{formats.FailEngineRefused, text}
	return backoff.Permanent(try)
}

func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusNotImplemented:
		return status != http.StatusNotImplemented
	}
	return status >= 500
}

// retryAfter reads Retry-After (seconds or a date) and retry-after-ms.
func retryAfter(h http.Header) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// errorText finds the message in an error body of any usual shape.
func errorText(body []byte) string {
	o := parseObject(body)
	for _, key := range []string{"error", "message", "detail"} {
		v := o.get(key)
		if text := unquote(parseObject(v).get("message")); text != "" {
			return text
		}
		if text := unquote(v); text != "" {
			return text
		}
	}
	return excerpt(body)
}

// notForwarded are headers that belong to one connection, or are the
// recorder's own business.
var notForwarded = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Host", "Content-Length", "Accept-Encoding", "Content-Encoding", "Authorization", Function}

func forward(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
	for _, name := range notForwarded {
		to.Del(name)
	}
}
