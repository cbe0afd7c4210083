package backends

import (
	"context"
	"errors"
	"time"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Jobs makes a job at most once at a service that lists its jobs, and finds it again when its
// sender died or the answer was lost. J is a job as the service returns it. Jobs knows no
// service: a trainer defines how its jobs are found by the submission's token, and what their
// states mean. The request that makes a job cannot be undone:
//
//	answer to it                               what it proves             outcome
//	2xx with an id                             the job was made           followed
//	400, 401, 403, 404, 413, 415, 422, ...     refused, by the service    clean, if a look finds no job
//	                                           or by a proxy
//	408, 409, 425, 429, 499, every 5xx, a      nothing                    clean, if neither a look nor
//	redirect, no answer, 2xx without an id                                another after Settle finds one
//	a job is found                             it was made                followed, whatever was answered
//	the jobs cannot be listed                  nothing                    unknown: the next run looks again
type Jobs[J any] struct {
	Settle time.Duration // until a new job is certainly listed

	// Find returns the job of a submission; nil if none is listed.
	Find func(ctx context.Context, token string) (*J, error)

	// Outcome returns the outcome of a job that was found.
	Outcome func(ctx context.Context, j *J) (Outcome, error)
}

// Make returns the submission's job: one that another sender made meanwhile, or the one that
// create makes by a single request. Without a job, Submit returns the outcome and the error.
//
// A request that failed may still have made a job: a refusal may be a proxy's.
// So the service is searched for it. After a refusal that the service gives
// before it makes a job, a single search decides.
func (s Jobs[J]) Make(ctx context.Context, sub Submission, create func() (*J, error)) (*J, Outcome, error) {
	clean := Clean("no job was made")
	j, err := s.Find(ctx, sub.Token)
	if err == nil && j == nil {
		err = sub.Fence()
	}
	if err != nil {
		return nil, clean, err
	}
	if j == nil {
		if j, err = create(); err != nil {
			out, err := s.lost(ctx, sub, err)
			return nil, out, err
		}
	}
	return j, Outcome{}, nil
}

func (s Jobs[J]) lost(ctx context.Context, sub Submission, broken error) (Outcome, error) {
	unknown := Outcome{State: JobUnknown, Message: broken.Error()}
	if ctx.Err() != nil {
		return unknown, broken
	}
	settle := time.Duration(0)
	if remote.Unsure(broken) {
		settle = s.Settle
	}
	out, err := s.look(ctx, sub, settle)
	switch {
	case err != nil:
		return unknown, errors.Join(broken, err)
	case out.Clean:
		return out, broken
	}
	return out, nil
}

// Resolve searches for the submission's job. The job of a request whose sender
// is dead is listed within Settle or never.
func (s Jobs[J]) Resolve(ctx context.Context, sub Submission) (Outcome, error) {
	return s.look(ctx, sub, s.Settle)
}

// look searches for the submission's job, and again after a while.
func (s Jobs[J]) look(ctx context.Context, sub Submission, settle time.Duration) (Outcome, error) {
	for again := settle <= 0; ; again = true {
		j, err := s.Find(ctx, sub.Token)
		if err != nil {
			return Outcome{State: JobUnknown}, err
		}
		if j != nil {
			return s.Outcome(ctx, j)
		}
		if again {
			return Clean("the service has no job of this submission"), nil
		}
		select {
		case <-ctx.Done():
			return Outcome{State: JobUnknown}, context.Cause(ctx)
		case <-time.After(settle):
		}
	}
}
