package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/storage/fault"
)

type job struct {
	example    int // index among the examples
	generation int32
	attempts   int32          // that earlier runs of this command made
	fork       *planning.Fork // nil: it begins at the start
}

// begun is an attempt that waits for its agent. It is not on the stack, which thousands that wait have each.
type begun struct {
	row     *formats.Trajectory
	input   agents.Attempt
	session *recorder.Session
	cancel  context.CancelFunc
}

// begin begins an attempt; nil: it has ended already, as the row and ok say.
func (r *runner) begin(ctx context.Context, j job) (b *begun, t *formats.Trajectory, ok bool, err error) {
	o := &r.opts
	e, err := o.Examples.At(j.example)
	if err != nil {
		return nil, nil, false, err
	}
	t = o.newRow(e, j)
	if !o.asksEngine() {
		return nil, t, r.stored(ctx, t, r.newAttempt(t, e, "")), nil
	}
	resume, err := r.resume(ctx, t)
	if err != nil {
		return nil, nil, false, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.TrajectoryTimeout, errTimeout)
	session := r.recorder.Begin(limited, t.TrajectoryID, formats.GroupID(e.ID, o.AtEpoch()), resume)
	return &begun{t, r.newAttempt(t, e, session.BaseURL()), session, cancel}, t, false, nil
}

// finish makes the row of what the agent returned. ok is false when ctx ended first: then there is
// nothing to keep. trace is the traceback of one that failed, if there is one.
func (r *runner) finish(ctx context.Context, b *begun, end *returned) (trace string, ok bool) {
	defer b.cancel()
	o, t, err := &r.opts, b.row, end.err
	timedOut := errors.Is(context.Cause(b.session.Context()), errTimeout)
	record := b.session.End()
	t.FinishedAt = o.Clock().UnixMicro()
	if err != nil && ctx.Err() != nil {
		return "", false
	}
	if agents.Exhausted(err) || record.LastCall != nil && exhaustedText(record.LastCall.Text) {
		r.stop(noRoom(cmp.Or(err, error(syscall.EMFILE))))
		return "", false
	}
	r.fill(t, record)
	o.conclude(t, end.result, err, record, timedOut)
	if t.Status == outcomes.StatusFailed && ctx.Err() != nil {
		return "", false // an agent may hide that the end of the run cut its call off
	}
	fit(t)
	return agents.TraceOf(err), true
}

func (o *Options) newRow(e formats.Example, j job) *formats.Trajectory {
	t := o.row(e, j.generation, j.fork)
	t.Attempts, t.StartedAt = j.attempts+1, o.Clock().UnixMicro()
	return &t
}

// newAttempt returns what an agent gets to make a trajectory; baseURL is "" if it asks no model.
func (r *runner) newAttempt(t *formats.Trajectory, e formats.Example, baseURL string) agents.Attempt {
	o := &r.opts
	a := agents.Attempt{Example: o.hidden(e), TrajectoryID: t.TrajectoryID, Epoch: int(t.Epoch), Generation: int(t.Generation)}
	if baseURL == "" {
		return a
	}
	a.BaseURL, a.APIKey, a.Model = baseURL, agentKey, cmp.Or(o.Model, t.Model)
	if o.KeepWorkspace {
		a.Keep = r.keepWorkspace
	}
	if r.recorder != nil {
		a.HTTP = r.recorder.Client()
	}
	a.Work = filepath.Join(o.workFolder(), t.TrajectoryID)
	if o.SamplingSeed != nil {
		a.Seed = new(formats.Seed(*o.SamplingSeed, t.TrajectoryID))
	}
	return a
}

// workFolder is where the attempts of a dataset have their folders.
func (o *Options) workFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("rollmill-%016x", formats.Seed(0, o.Out.URI)))
}

// agentKey is the API key that agents send to the proxy. OpenAI clients do not
// start without a key.
const agentKey = "rollmill"

var errTimeout = errors.New("the trajectory's time limit passed")

// patience is how long an agent may take to return after its context ended.
var patience = time.Minute

type returned struct {
	result agents.Result
	err    error
}

// ask has the agent make the attempt, on this goroutine, and calls ended once. An agent that does not return
// when its context ends is abandoned: no trajectory keeps the run from ending.
func (r *runner) ask(ctx context.Context, a *agents.Attempt, ended func(*returned)) {
	var once sync.Once
	back := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-back:
		case <-time.After(patience):
			once.Do(func() {
				r.opts.Logger().Warn("an agent did not end when it was told to, and is left alone", "trajectory", a.TrajectoryID,
					"waited", patience)
				ended(&returned{err: context.Cause(ctx)})
			})
		}
	})
	end := r.made(ctx, a)
	stop()
	close(back)
	once.Do(func() { ended(end) })
}

// made returns what the agent returns. A panic fails this attempt alone.
func (r *runner) made(ctx context.Context, a *agents.Attempt) (end *returned) {
	end = &returned{}
	defer func() {
		if p := recover(); p != nil {
			end.err = agents.Failf(outcomes.FailInternal, "the agent panicked: %v\n%s", p, debug.Stack())
		}
	}()
	end.result, end.err = r.opts.Agent.Attempt(ctx, *a)
	return end
}

// asked waits for ask, and returns the agent's error.
func (r *runner) asked(ctx context.Context, a agents.Attempt) error {
	ended := make(chan *returned, 1)
	go r.ask(ctx, &a, func(end *returned) { ended <- end })
	return (<-ended).err
}

// exhaustedText is exhausted for a call of the recorder, of which only the text
// is left: Go names the system call before the cause, while an engine's own
// message follows the HTTP status.
func exhaustedText(text string) bool {
	return !strings.HasPrefix(text, "HTTP ") &&
		(strings.Contains(text, "socket: "+syscall.EMFILE.Error()) ||
			strings.Contains(text, "socket: "+syscall.ENFILE.Error()))
}

func noRoom(err error) error {
	return fault.Errorf(fault.Temporary,
		"lower --concurrency, or raise the limit (ulimit -n for files, ulimit -u for processes), and run the same "+
			"command again",
		"rollout: this machine cannot start another attempt; finished trajectories are kept: %w", err)
}

// stored takes over a row that was made before. t has the new attempt's ids.
func (r *runner) stored(ctx context.Context, t *formats.Trajectory, a agents.Attempt) bool {
	limited, cancel := context.WithTimeoutCause(ctx, r.opts.TrajectoryTimeout, errTimeout)
	defer cancel()
	old, err := r.opts.agent.Stored(limited, a)
	var failure *agents.Failure
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil && limited.Err() != nil:
		Fail(t, outcomes.StopTimeout, outcomes.FailTimeout, errTimeout.Error())
	case agents.Exhausted(err):
		r.stop(noRoom(err))
		return false
	case err != nil && !errors.As(err, &failure):
		r.stop(err) // the input is damaged or cannot be read: no trajectory failed
		return false
	case err != nil:
		Fail(t, outcomes.StopError, failure.Class, err.Error())
	default:
		if r.opts.pays() {
			r.spending.Add(1, old.Calls...)
		}
		old.TrajectoryID, old.Run, old.ExampleID, old.Epoch = t.TrajectoryID, t.Run, t.ExampleID, t.Epoch
		old.Generation, old.Example, old.Attempts, old.StartedAt = t.Generation, t.Example, t.Attempts, t.StartedAt
		old.Reward, old.Rewards, old.ShapedRewards, old.GroupID = nil, nil, nil, ""
		old.Advantage, old.Advantages, old.Losses = nil, nil, nil
		*t = old
		fit(t)
	}
	t.FinishedAt = r.opts.Clock().UnixMicro()
	t.SetPayloadDigest()
	return true
}
