package submit

import (
	"encoding/json"
	"time"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/storage/fault"
)

// stall notices a job without progress for too long: one that waits for
// resources for ever, or a trainer with unknown states.
type stall struct {
	now   func() time.Time
	limit time.Duration
	last  string
	since time.Time
}

// look updates it with the trainer's latest answer.
func (w *stall) look(out backends.Outcome) error {
	if w.limit <= 0 {
		return nil
	}
	news := out
	if out.UnknownState { // its answers may change for ever
		news = backends.Outcome{UnknownState: true}
	}
	seen, err := json.Marshal(news)
	if err != nil { // a metric that JSON cannot express: count it as progress
		seen = nil
	}
	now := w.now()
	if string(seen) != w.last || seen == nil {
		w.last, w.since = string(seen), now
		return nil
	}
	if quiet := now.Sub(w.since); quiet >= w.limit {
		return fault.Errorf(fault.Temporary,
			"check the trainer; the same command continues to wait, and `rollmill job cancel` ends the job",
			"submit: the job %q shows nothing new for %s: it is %s: %s", out.Job, quiet.Round(time.Second), out.State,
			out.Message)
	}
	return nil
}
