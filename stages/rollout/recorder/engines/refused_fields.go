package engines

import (
	"bytes"
	"errors"
	"net/http"
	"slices"

	"github.com/rollmill/rollmill/formats/apis"
)

// refusedField returns an added field that a refusal names and that was sent, or "".
func refusedField(q *apis.Request, without []string, err error) string {
	streamed := q.Streamed()
	if slices.Contains(without, streamed) {
		streamed = ""
	}
	if errors.Is(err, errNoStreamLogprobs) {
		return streamed
	}
	var refused *refusedError
	if !errors.As(err, &refused) {
		return ""
	}
	because := func(name string) bool {
		return name != "" && !slices.Contains(without, name) && refused.result.refuses(name)
	}
	if i := slices.IndexFunc(q.Added, because); i >= 0 {
		return q.Added[i]
	}
	if streamed != "" && (refused.result.refuses("stream") || q.NeedsLogprobs && refused.result.refuses("logprobs")) {
		return streamed
	}
	if because(q.Optional) {
		return q.Optional
	}
	return ""
}

func (u *Pool) without(endpoint string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.refused[endpoint]
}

// RememberRefused remembers the field without which a refused request was answered, and reports it once. Fields that
// were left out before it may be innocent: they are sent again.
func (u *Pool) RememberRefused(endpoint string, q *apis.Request, field string) {
	streamed := q.Streamed()
	if !slices.Contains(q.Added, field) && field != streamed {
		return // optional: refused here, and perhaps accepted elsewhere
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Contains(u.refused[endpoint], field) {
		return
	}
	u.refused[endpoint] = append(slices.Clone(u.refused[endpoint]), field)
	if field == streamed {
		u.opts.Log.Info("the engine's streams lack logprobs; from now on it is asked for whole answers, which agents get "+
			"when they are complete", "endpoint", endpoint, "request", field)
		return
	}
	u.opts.Log.Error("the engine refuses a request field; it is left out from now on, and the data that it requests will "+
		"be missing from the rows", "endpoint", endpoint, "field", field)
}

// refuses reports whether an engine refused a request because of a field.
func (r *Result) refuses(name string) bool {
	return (r.Status == http.StatusBadRequest || r.Status == http.StatusUnprocessableEntity) &&
		bytes.Contains(r.Body, []byte(name))
}
