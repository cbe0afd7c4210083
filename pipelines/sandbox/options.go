package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Options say what to serve. The zero value works, but keeps no state when the process ends.
type Options struct {
	Dir       string   // state: checkpoints and counters; "" keeps them in memory
	Seed      int64    // of the untrained weights
	BaseModel string   // id of the untrained policy; default DefaultBaseModel
	Models    []string // "project/name": known from the start, as if registered

	Hidden            int     // units of the hidden layer; default 64
	GradientSteps     int     // gradient steps of a training call, in two passes over the batch; default 16
	LearningRateScale float64 // multiplies config.learning_rate; default 1

	APIKey string // required on /v1; "" requires none

	Sampled func(Sample) // is told of each choice before the answer is sent; nil for nobody

	Log *slog.Logger     // nil: nothing is logged
	Now func() time.Time // nil: time.Now
}

// DefaultBaseModel is the id under which the untrained policy is served.
const DefaultBaseModel = "rollmill/sandbox"

func (o Options) withDefaults() Options {
	o.BaseModel = cmp.Or(o.BaseModel, DefaultBaseModel)
	o.Hidden = cmp.Or(o.Hidden, 64)
	o.GradientSteps = cmp.Or(o.GradientSteps, 16)
	o.LearningRateScale = cmp.Or(o.LearningRateScale, 1)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate reports the first invalid option, before anything is opened.
func (o Options) Validate() error {
	switch o = o.withDefaults(); {
	case o.Hidden < 1 || o.Hidden > 4096:
		return fmt.Errorf("hidden units %d: must be 1 to 4096", o.Hidden)
	case o.GradientSteps < 1:
		return fmt.Errorf("gradient steps %d: must be at least 1", o.GradientSteps)
	case o.LearningRateScale < 0:
		return fmt.Errorf("learning rate scale %g: must not be negative", o.LearningRateScale)
	}
	return nil
}

// Serve serves the listener until ctx ends, gives running requests a few
// seconds to finish, and closes the server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second}
	done := make(chan error, 1)
	go func() { done <- web.Serve(l) }()
	select {
	case err := <-done:
		return errors.Join(fmt.Errorf("serving the sandbox: %w", err), s.Close())
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := web.Shutdown(grace); err != nil {
		web.Close()
	}
	return s.Close()
}
