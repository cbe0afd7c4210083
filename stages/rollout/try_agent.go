package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage/fault"
)

// startTime is how long a check waits for an agent's first call.
const startTime = 20 * time.Second

// failTime is how long it then waits for the attempt to fail by itself.
const failTime = 2 * time.Second

var errAsked = errors.New("the agent asked the model")

// TryAgent starts the agent's first attempt, for `rollmill check`. The model's
// address is a server that refuses every call, so nothing is paid for; the
// attempt is ended at the first call, or soon after with KeepAgent. It returns a sentence with the result.
func (o Options) TryAgent(ctx context.Context) (found string, err error) {
	o = o.defaults()
	if !o.KeepAgent {
		defer func() { err = errors.Join(err, o.CloseAgent()) }()
	}
	if !o.asksEngine() {
		return "it asks no engine", nil
	}
	if o.Examples.Len() == 0 {
		return "", o.noExamples()
	}
	e, err := o.Examples.At(0)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeoutCause(ctx, startTime, errTimeout)
	defer cancel()
	begun, asked := context.WithCancelCause(limited)
	var called atomic.Bool
	url, stop, err := serveNothing(o, func() {
		called.Store(true)
		if o.KeepAgent { // a process that fails by itself need not be ended
			time.AfterFunc(failTime, func() { asked(errAsked) })
			return
		}
		asked(errAsked)
	})
	if err != nil {
		return "", err
	}
	defer stop()
	r := &runner{opts: o}
	defer os.Remove(o.workFolder())
	t := formats.Trajectory{TrajectoryID: formats.TrajectoryID(o.Run+"-check", e.ID, o.AtEpoch(), 0), Epoch: int32(o.AtEpoch()),
		Model: "check"} // a receipt may name the model only later
	err = r.asked(begun, r.newAttempt(&t, e, url))
	switch cause := context.Cause(begun); {
	case called.Load():
		return "it starts, and asks the model", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(cause, errTimeout):
		return fmt.Sprintf("it starts; it asked the model nothing within %s", startTime), nil
	case err != nil:
		return "", fault.Errorf(fault.Usage,
			fmt.Sprintf("it was given example %q and ended before it asked the model", e.ID),
			"rollout: the agent cannot start: %w", err)
	}
	return "it starts; it ended without asking the model", nil
}

// serveNothing listens at the recording proxy's address and refuses every call.
func serveNothing(o Options, asked func()) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", cmp.Or(o.Listen, "127.0.0.1:0"))
	if err != nil {
		return "", nil, fmt.Errorf("rollout: listening for the agents' calls: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: startTime,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", "false")
			http.Error(w, `{"error":{"message":"this is a check: no model answers","type":"rollmill_check"}}`,
				http.StatusServiceUnavailable)
			asked()
		})}
	go server.Serve(l)
	url = "http://" + l.Addr().String()
	if o.Advertise != "" {
		url = strings.TrimRight(o.Advertise, "/")
	}
	return url + "/t/check/v1", func() { server.Close() }, nil
}
