package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// requestError is an error with the status of its page.
type requestError struct {
	status     int
	what, hint string
}

func (e *requestError) Error() string { return e.what }

// Fault returns what to do.
func (e *requestError) Fault() (fault.Kind, string) { return fault.Failed, e.hint }

func refused(status int, what, hint string) error { return &requestError{status, what, hint} }

// missing is the error about something that is not there.
func missing(format string, args ...any) error {
	return refused(http.StatusNotFound, fmt.Sprintf(format, args...), "")
}

// wrong is the error about a parameter that cannot be used.
func wrong(hint, format string, args ...any) error {
	return refused(http.StatusBadRequest, fmt.Sprintf(format, args...), hint)
}

// elsewhere is the error about a page that is at another path of the viewer.
type elsewhere string

func (e elsewhere) Error() string { return "see " + string(e) }

// statusOf maps the kind of an error to a status.
func statusOf(err error) int {
	var known *requestError
	var misused *fault.Error
	switch {
	case errors.As(err, &known):
		return known.status
	case errors.Is(err, storage.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, fault.ErrInvalid), errors.As(err, &misused) && misused.Kind == fault.Usage:
		return http.StatusUnprocessableEntity
	case errors.Is(err, storage.ErrTemporary), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	case errors.Is(err, storage.ErrDenied), errors.Is(err, storage.ErrNoBucket):
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError
}

type errorModel struct {
	Frame
	What, Hint string
	Status     int
}

// fail writes an error's page. The error of a request that the browser gave up gets
// none.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	var to elsewhere
	if errors.As(err, &to) {
		http.Redirect(w, r, string(to), http.StatusSeeOther)
		return
	}
	m := errorModel{Status: statusOf(err), What: err.Error(), Hint: fault.HintOf(err)}
	m.Title = "This page cannot be shown"
	if m.Status >= http.StatusInternalServerError {
		s.log.Warn("a page failed", "path", r.URL.Path, "error", err)
	}
	if m.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", "GET, HEAD")
	}
	if err := s.render(w, "error", m.Status, m); err != nil {
		s.log.Error("the page of an error failed", "error", err)
		http.Error(w, m.Title, m.Status)
	}
}
