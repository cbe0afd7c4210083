package watch

import (
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/excerpt"
)

// Warnings logs failed trajectories. Of failures that differ only in numbers,
// the first is logged in full, then their count: at ten, a hundred, and so on,
// and at the end.
type Warnings struct {
	mu   sync.Mutex
	seen map[string]*failureCount
}

type failureCount struct {
	class, text string
	n, logged   int
}

// maxTexts is how many texts are remembered; further ones are counted by class.
const maxTexts = 200

func (w *Warnings) Failed(log *slog.Logger, t *formats.Trajectory) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := t.FailureClass + ": " + signature(t)
	if w.seen[key] == nil && len(w.seen) >= maxTexts {
		key = t.FailureClass
	}
	a := w.seen[key]
	if a == nil {
		if w.seen == nil {
			w.seen = map[string]*failureCount{}
		}
		a = &failureCount{class: t.FailureClass, text: t.Error, logged: 1}
		w.seen[key] = a
		log.Warn("a trajectory failed", "trajectory", t.TrajectoryID, "example", t.ExampleID, "generation", t.Generation,
			"class", t.FailureClass, "error", t.Error)
	}
	if a.n++; a.n == 10*a.logged {
		a.log(log)
	}
}

// End logs the counts that were not logged yet.
func (w *Warnings) End(log *slog.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.seen)) {
		if a := w.seen[key]; a.n > a.logged {
			a.log(log)
		}
	}
	w.seen = nil
}

// maxLogged is how much of an error is logged: its end, since the last line of a traceback names the cause.
const maxLogged = 200

func (a *failureCount) log(log *slog.Logger) {
	a.logged = a.n
	log.Warn(fmt.Sprintf("%d trajectories failed for the same reason", a.n), "class", a.class, "error", excerpt.End(a.text, maxLogged))
}

var numbers = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]*`)

// signature returns an error without what differs between trajectories that fail
// for one reason: ids, ports, addresses, times.
func signature(t *formats.Trajectory) string {
	text := strings.ReplaceAll(t.Error, t.TrajectoryID, "#")
	return numbers.ReplaceAllString(strings.ReplaceAll(text, fmt.Sprintf("%q", t.ExampleID), "#"), "#")
}
