package recordertest

import (
	"fmt"
	"net/http"
	"time"
)

// Fault is an error in one answer; the zero value is none.
type Fault struct {
	Status     int    // answer with this status
	RetryAfter string // and this header
	Body       string // "" for an error that names the status
	Kind       FaultKind
}

// FaultKind is how an answer is wrong.
type FaultKind string

const (
	HalfBody   FaultKind = "half body"   // the connection ends in the middle
	Garbage    FaultKind = "garbage"     // not JSON
	Empty      FaultKind = "empty"       // a completion without choices
	NoLogprobs FaultKind = "no logprobs" // as if they had not been asked for
	Merged     FaultKind = "merged"      // two tokens share an entry, as llama-server does with incomplete UTF-8
	NaN        FaultKind = "nan"         // as Python writes it
	Null       FaultKind = "null"
	Positive   FaultKind = "positive"
	Hang       FaultKind = "hang"    // until the client goes away
	BadIDs     FaultKind = "bad ids" // one id too few
	BaseModel  FaultKind = "base"    // the base model answers
	ErrorEvent FaultKind = "in-band" // a stream that carries an error
	Drip       FaultKind = "drip"    // a few bytes at a time, whole in the end
)

// instead answers with the fault alone, if it leaves no answer.
func (f Fault) instead(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		if f.Body != "" {
			fmt.Fprint(w, f.Body)
			return true
		}
		fmt.Fprintf(w, `{"error":{"message":"refused with %d","type":"test"}}`, f.Status)
	case f.Kind == Hang:
		<-r.Context().Done()
	case f.Kind == Garbage:
		fmt.Fprint(w, `<html>bad gateway</html>`)
	case f.Kind == Empty:
		fmt.Fprint(w, `{"id":"x","object":"chat.completion","choices":[]}`)
	default:
		return false
	}
	return true
}

// drip writes a body slowly, until the client goes away.
func drip(w http.ResponseWriter, r *http.Request, body []byte) {
	const pieces, pause = 20, 30 * time.Millisecond
	for rest := body; len(rest) > 0; {
		n := min(len(rest), len(body)/pieces+1)
		w.Write(rest[:n])
		w.(http.Flusher).Flush()
		if rest = rest[n:]; len(rest) == 0 {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(pause):
		}
	}
}
