package remote

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// Error is the error of a request to a service.
type Error struct {
	What  string
	Help  string
	Retry bool // the same may succeed later
	Usage bool // the config is wrong
	Err   error

	Status int           // of the answer; 0 when there was none
	Answer []byte        // its beginning
	After  time.Duration // how long the service asks to wait; 0 when it does not say
	Unsent bool          // no connection was made, so the service did not get the request
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return e.What
	case e.What == "":
		return e.Err.Error()
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fault returns the error's kind and hint.
func (e *Error) Fault() (fault.Kind, string) {
	switch {
	case e.Usage:
		return fault.Usage, e.Help
	case e.Retry:
		return fault.Temporary, e.Help
	}
	return fault.Failed, e.Help
}

// LateError is the exceeded time limit of a request.
type LateError time.Duration

func (e LateError) Error() string { return fmt.Sprintf("no answer within %s", time.Duration(e)) }

// TooLargeError is the exceeded size limit of an answer, in bytes.
type TooLargeError int64

func (e TooLargeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d MiB", int64(e)>>20)
}

// Status returns the HTTP status of the answer that caused an error; 0 for none.
func Status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// Unsure reports whether a request may have had its effect although it failed: there was no
// answer, or one that proves nothing, such as a proxy's when it stopped waiting. An error that
// no service caused is from before the request was sent.
func Unsure(err error) bool {
	if e := (*Error)(nil); !errors.As(err, &e) {
		return false
	}
	switch code := Status(err); code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests, clientClosed:
		return true
	default:
		return code < 400 || code >= 500
	}
}

// clientClosed is the status of proxies for a client that disconnected.
const clientClosed = 499
