package harbor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// list is a script for sh that prints its own process and the state of all.
const list = `echo $$; for p in /proc/[0-9]*/stat; do read -r l <$p && echo "$l"; done 2>/dev/null`

// processes are names by number and start.
type processes map[string]string

// readProcesses reads what list prints, without the list's own process and those above it.
func readProcesses(text string) processes {
	out, above, of := processes{}, map[string]string{}, map[string]string{}
	first, rest, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(rest) {
		id, more, _ := strings.Cut(line, " (")
		end := strings.LastIndex(more, ") ")
		if end < 0 {
			continue
		}
		fields := strings.Fields(more[end+2:])
		name := strings.ToValidUTF8(more[:end], "?")
		if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" || name == "exe" || strings.HasPrefix(name, "runc:") { // the runtime on its way in
			continue
		}
		above[id], of[id] = fields[1], id+" "+fields[19]
		out[of[id]] = name
	}
	delete(out, of["1"])
	for id := first; of[id] != ""; id = above[id] {
		delete(out, of[id])
		delete(of, id)
	}
	return out
}

// running asks the container what runs in it. Who changed its programs can have it lie,
// and gains nothing: what it does not tell is ended all the same.
func (b *box) running(ctx context.Context) (processes, error) {
	if w, ok := b.runtime.(*bwrap); ok {
		return w.left(b.name), nil
	}
	out := &process.Head{Limit: printed}
	_, err := b.exec(ctx, removeTime, Exec{Words: []string{"sh", "-c", list}, User: "0", Output: out})
	return readProcesses(out.String()), err
}

// A program that the agent left has looks times pause to end by itself.
const (
	looks = 10
	pause = 200 * time.Millisecond
)

// leftRunning names what runs and did not before the agent began. What is about to end, as
// the children of a harness that ended, was not left.
func (b *box) leftRunning(ctx context.Context) (left []string, err error) {
	_, recorded := b.runtime.(*bwrap) // what ran at the end of a program
	for look := range looks {
		now, err := b.running(ctx)
		if err != nil {
			return nil, err
		}
		left = nil
		for id, name := range now {
			if _, before := b.before[id]; !before {
				left = append(left, name)
			}
		}
		if len(left) == 0 || recorded || b.keeps() || look == looks-1 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	slices.Sort(left)
	return left, nil
}

// settle ends what the agent left running, so that only the tests write the reward, and
// returns what that was. Nothing runs while files are counted.
func (b *box) settle(ctx context.Context) (left []string, notes map[string]float64, err error) {
	if left, err = b.leftRunning(ctx); err != nil {
		return nil, nil, err
	}
	notes = map[string]float64{}
	if b.keeps() {
		left, notes["processes_left"] = nil, 1
	} else if err := b.runtime.Stop(ctx, b.name); err != nil {
		return nil, nil, fmt.Errorf("ending what the agent left running: %w", err)
	}
	if n, err := b.tampered(ctx); err == nil {
		notes["tampered"] = n
	} else {
		b.warn(fmt.Errorf("no number of tampered programs: %w", err))
	}
	if b.keeps() {
		return left, notes, nil
	}
	if err := b.starts.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	defer b.starts.Release(1)
	return left, notes, b.runtime.Again(ctx, b.name)
}

// keeps reports whether what the agent leaves running may live on.
func (b *box) keeps() bool { return b.config.KeepProcesses || b.task.KeepProcesses }

// missed is the failure of an attempt whose tests gave less than 1 after processes were
// ended: the answer may have been one of them.
func missed(left []string, err error) error {
	names := strings.Join(slices.Compact(left[:min(len(left), 10)]), ", ")
	return agents.Failf(outcomes.FailVerifier, "the agent left processes running (%s), which were ended before the tests, and %w; "+
		"if the task asks for a running program, use --keep-processes", names, err)
}

// left returns what the programs of a container left running, and that ended with them.
func (b *bwrap) left(name string) processes {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.boxes[name].ended)
}

// leaves is a script for sh that runs a program, and then prints list at descriptor 4.
const leaves = `"$@" 4>&-; c=$?; { ` + list + `; } >&4; exit $c`

// note adds what list printed.
func (b *bwrap) note(name string, printed io.Reader) {
	text, err := io.ReadAll(io.LimitReader(printed, 1<<20))
	if err != nil || bytes.IndexByte(text, '\n') < 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.boxes[name]; ok {
		for id, program := range readProcesses(string(text)) {
			c.ended[strconv.Itoa(len(c.ended))+" "+id] = program
		}
	}
}
