package recorder

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// Options say where calls are forwarded and what is added to them.
type Options struct {
	engines.Settings
	apis.Defaults

	Target    string   // calls to this model are the ones to train on; "" means Model
	Functions []string // if not empty, only calls of these functions are trained on
	Version   *int64   // policy version that must answer; nil when unknown
	Accept    []string // further names that an answer may carry; "*" for any
	Seed      *int64   // base of the seeds sent to the engine; nil sends none

	AllowPaths []string // further requests that pass to the engine, such as "GET /v1/files/*"; see CheckPath

	Logprobs map[string]string // what the logprobs of each endpoint are of, for calls.logprobs_mode; nil: unknown

	AcceptLeftStreams bool // a stream that the agent left does not make Record.Abandoned
	TrainAuxiliary    bool // auxiliary calls (see tree.Auxiliary) train too

	Listen    string        // "" means 127.0.0.1:0
	Advertise string        // base URL by which agents reach it; "" means http:// and its address
	MaxCalls  int           // of one trajectory; 0 means no limit
	MaxTokens int64         // of prompts and answers of one trajectory's calls; 0 means no limit
	PingEvery time.Duration // of silence, until an agent whose stream is translated gets a ping; 0 means 4 s

	Ended func(formats.Call) // called with each call that ended, answered or not, unless it got an earlier answer; may be nil

	// Called is called when a call of a model ended that an engine was asked for; f is nil if it was answered. api is
	// the path of the request. It must be quick, and may be nil.
	Called func(model, api string, began time.Time, f *completion.Failure)
}

func (o Options) withDefaults() Options {
	if o.Extra == nil {
		o.Extra = apis.DefaultExtra
	}
	o.Retries = max(0, cmp.Or(o.Retries, 5))
	o.Backoff = cmp.Or(o.Backoff, 500*time.Millisecond)
	o.CallTimeout = cmp.Or(o.CallTimeout, 10*time.Minute)
	o.Target = cmp.Or(o.Target, o.Model)
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:0")
	o.Connections = cmp.Or(o.Connections, 64)
	o.PingEvery = cmp.Or(o.PingEvery, 4*time.Second) // many clients wait for 5 s
	o.HealthEvery = cmp.Or(o.HealthEvery, time.Second)
	o.Slowdown = cmp.Or(o.Slowdown, 10)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Endpoints = slices.Clone(o.Endpoints)
	for i, e := range o.Endpoints {
		o.Endpoints[i] = strings.TrimRight(e, "/")
	}
	return o
}
