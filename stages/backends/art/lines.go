package art

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
)

// lines are the metrics that the server sent while it trained: one object per gradient step.
type lines struct {
	raw  []json.RawMessage
	kept int
	mean map[string]float64
	n    map[string]int
	nan  map[string]int // values that were NaN or infinite

	announced float64 // gradient steps; -1 when no line says
	maxSteps  float64 // the largest number of a line
	err       error   // nil: the answer ended as it should
	old       bool    // ART 0.3, whose step stays when there is nothing to train on
}

// errEnded means that the server ended the answer without its last chunk, which
// is how ART reports an exception while training.
var errEnded = errors.New("the server gave up in the middle of its answer")

// The longest line that is read, and the size of all lines kept. ART sends a
// line per gradient step, of a few hundred bytes.
const (
	maxLine  = 1 << 20
	maxLines = 64 << 20
)

// watch ends a connection that is silent for too long.
type watch struct {
	*time.Timer
	limit time.Duration
}

// newWatch returns a running watch. A limit of 0 means none.
func newWatch(limit time.Duration, cancel context.CancelCauseFunc) *watch {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return &watch{time.AfterFunc(limit, func() { cancel(fmt.Errorf("no news for %s", limit)) }), limit}
}

func (w *watch) touch() { w.Reset(w.limit) }

// readLines reads to the end of the answer.
func readLines(r io.Reader, w *watch, event func(backends.JobEvent)) *lines {
	l := &lines{mean: map[string]float64{}, n: map[string]int{}, nan: map[string]int{}, announced: -1}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := jsontext.ReadLine(in, maxLine, errLongLine)
		w.touch()
		if line = bytes.TrimSpace(line); len(line) > 0 && (err == nil || err == io.EOF) {
			before := len(l.raw)
			if bad := l.add(line); bad != nil {
				l.err = bad
				return l
			}
			if len(l.raw) > before {
				event(backends.JobEvent{Metrics: l.raw[before]})
			}
		}
		switch {
		case err == io.EOF:
			return l
		case errors.Is(err, io.ErrUnexpectedEOF):
			l.err = errEnded
			return l
		case err != nil:
			l.err = err
			return l
		}
	}
}

var errLongLine = fmt.Errorf("a line of more than %d bytes", maxLine)

func (l *lines) add(line []byte) error {
	fixed, _ := jsontext.Mend(line) // what is null is counted below
	var values map[string]any
	var compact bytes.Buffer
	if err := cmp.Or(json.Unmarshal(fixed, &values), json.Compact(&compact, fixed)); err != nil {
		l.err = fmt.Errorf("metric line %d: %w", len(l.raw)+1, err) // this line is lost, and no other
		return nil
	}
	if l.kept += compact.Len(); l.kept > maxLines {
		return fmt.Errorf("metric line %d: more than %d MiB of metrics", len(l.raw)+1, maxLines>>20)
	}
	l.raw = append(l.raw, compact.Bytes())
	for key, v := range values {
		switch v := v.(type) {
		case float64:
			l.n[key]++
			l.mean[key] += v/float64(l.n[key]) - l.mean[key]/float64(l.n[key]) // a sum could overflow
			if key == "num_gradient_steps" || key == "data/step_num_gradient_steps" {
				l.announced = v
				l.maxSteps = max(l.maxSteps, v)
			}
		case nil:
			l.nan[key]++
		}
	}
	return nil
}

// idle reports whether the server said that it found nothing to train on.
func (l *lines) idle(stays bool) bool {
	if len(l.raw) == 0 { // a proxy may have ended the answer while the server trains
		return l.err == nil && (l.old || !stays)
	}
	return l.announced >= 0 && l.maxSteps == 0
}

// whole reports whether the answer shows the training to its end.
func (l *lines) whole() bool { return l.err == nil && float64(len(l.raw)) == l.announced }

// decide returns the outcome of a batch that was sent whole, by the server's
// step and by what was seen of the answer; nil for nothing. A step alone proves
// nothing, because ART 0.4 advances it without training. It counts if gradient
// steps were seen, or if preflight counted tokens that ART trains on. A step
// that stands still proves nothing either: the server may be training.
func decide(s backends.Submission, seen *lines, step int64) backends.Outcome {
	out := backends.Outcome{State: backends.JobUnknown, StepAfter: &step, Policy: policyAt(s, step)}
	before := s.Before.Step
	switch {
	case seen != nil && seen.idle(same(&step, before)):
		out.State, out.Message = receipts.JobUntrained, fmt.Sprintf("ART found nothing to train on: no gradient "+
			"steps, step %d", step)
	case before == nil:
		out.Message = fmt.Sprintf("the step is %d, and none was noted before", step)
	case step == *before:
		out.MayChange = true
		out.Message = fmt.Sprintf("the step is %d, as it was before: the batch may never have arrived, may be training "+
			"still, or may have failed half way%s", step, seen.progress())
	case step < *before:
		out.Message = fmt.Sprintf("the step went from %d back to %d: the server was reset", *before, step)
	case seen != nil && seen.whole():
		out.State = receipts.JobCompleted
		if step > *before+1 {
			out.Message = fmt.Sprintf("the step went from %d to %d: something else trained, too", *before, step)
		}
	case step > *before+1:
		out.Message = fmt.Sprintf("the step went from %d to %d: something else trained, too", *before, step)
	case s.Tokens > 0 || seen != nil && len(seen.raw) > 0:
		out.State = receipts.JobCompleted
		out.Message = fmt.Sprintf("the step went from %d to %d: taken as trained; %s", *before, step, seen.missing())
	default:
		out.Message = fmt.Sprintf("the step went from %d to %d, and ART also advances it when it finds nothing to train on",
			*before, step)
	}
	return out
}

// progress says how far the training came; "" if nothing was seen of it.
func (l *lines) progress() string {
	if l == nil || len(l.raw) == 0 {
		return ""
	}
	return fmt.Sprintf(", after %d gradient steps; the server's log says which (for CUDA out of memory: %s)", len(l.raw),
		outOfMemory)
}

// missing says which metrics were not seen.
func (l *lines) missing() string {
	switch {
	case l == nil || len(l.raw) == 0:
		return "its metrics are lost"
	case l.announced < 0:
		return fmt.Sprintf("none of %d metric lines announces the number of gradient steps", len(l.raw))
	}
	return fmt.Sprintf("the metrics of %d of %g gradient steps were seen", len(l.raw), l.announced)
}

// ruined names the losses that were NaN.
func (l *lines) ruined() (what string) {
	for key, n := range l.nan {
		if strings.Contains(key, "loss") {
			what = join(what, fmt.Sprintf("%s was NaN in %d of %d gradient steps: the new weights may be ruined", key, n,
				len(l.raw)))
		}
	}
	return what
}
