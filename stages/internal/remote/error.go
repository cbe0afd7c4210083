package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
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

func (c *Client) clean(e *Error) *Error {
	for _, secret := range c.Secrets {
		if secret == "" {
			continue
		}
		hide := strings.NewReplacer(secret, "[key]")
		e.What, e.Help, e.Answer = hide.Replace(e.What), hide.Replace(e.Help), []byte(hide.Replace(string(e.Answer)))
		if e.Err != nil && strings.Contains(e.Err.Error(), secret) {
			e.Err = errors.New(hide.Replace(e.Err.Error()))
		}
	}
	return e
}

// Text returns the message of an answer: OpenAI's error.message, FastAPI's
// detail, the hub's error, or the answer's beginning.
func Text(header http.Header, data []byte) string {
	var body struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(data[:min(len(data), 500)]), ""))
	if json.Unmarshal(data, &body) == nil {
		for _, raw := range []json.RawMessage{body.Error, body.Detail} {
			if said := sentence(raw); said != "" {
				return said
			}
		}
	}
	if said := header.Get("X-Error-Message"); said != "" {
		return said
	}
	return text
}

func sentence(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct{ Message, Param string }
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		if object.Param != "" {
			return fmt.Sprintf("%s (%s)", object.Message, object.Param)
		}
		return object.Message
	}
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return string(raw[:min(len(raw), 500)])
}
