package verifier

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/process"
)

// Before takes what runs now for what nobody left.
func (b *Box) Before(ctx context.Context) (err error) {
	b.before, err = b.running(ctx)
	return err
}

// running asks the container what runs in it. Who changed its programs can have it lie,
// and gains nothing: what it does not tell is ended all the same.
func (b *Box) running(ctx context.Context) (containers.Processes, error) {
	if left, ends := containers.Ended(b.Runtime, b.Name); ends {
		return left, nil
	}
	out := &process.Head{Limit: containers.Printed}
	code, err := b.Exec(ctx, removeTime, containers.Exec{Words: []string{"sh", "-c", containers.List}, User: "0", Output: out})
	b.blind = code >= 125 // sh itself did not start
	return containers.ReadProcesses(out.String()), err
}

// A program that the agent left has looks times pause to end by itself.
const (
	looks = 10
	pause = 200 * time.Millisecond
)

// leftRunning names what runs and did not before the agent began. What is about to end, as
// the children of a harness that ended, was not left.
func (b *Box) leftRunning(ctx context.Context) (left []string, err error) {
	_, recorded := containers.Ended(b.Runtime, b.Name) // what ran at the end of a program
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
func (b *Box) settle(ctx context.Context, keep func(left []string) error) (left []string, notes map[string]float64, err error) {
	if left, err = b.leftRunning(ctx); err != nil {
		return nil, nil, err
	}
	if err := keep(left); err != nil { // now: without a shell, the container does not start again
		return nil, nil, err
	}
	notes = map[string]float64{}
	if b.keeps() {
		left, notes["processes_left"] = nil, 1
	} else if err := b.Stop(ctx, b.Name); err != nil {
		return nil, nil, fmt.Errorf("ending what the agent left running: %w", err)
	}
	if notes["tampered"], err = b.tampered(ctx); err != nil {
		delete(notes, "tampered")
		b.warn(fmt.Errorf("no number of tampered programs: %w", err))
	}
	if b.keeps() {
		return left, notes, nil
	}
	return left, notes, b.Again(ctx, b.Name)
}

// keeps reports whether what the agent leaves running may live on.
func (b *Box) keeps() bool { return b.Keep || b.Task.KeepProcesses }

// missed is the failure of an attempt whose tests gave less than 1 after processes were
// ended: the answer may have been one of them.
func missed(left []string, err error) error {
	names := strings.Join(slices.Compact(left[:min(len(left), 10)]), ", ")
	return fmt.Errorf("the agent left processes running (%s), which were ended before the tests, and %w", names, err)
}
