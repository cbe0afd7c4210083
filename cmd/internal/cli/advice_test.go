package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestAMessageHasNoPartTwice checks how a failure is told: no part of a message is there
// twice, nor is the command's own name.
func TestAMessageHasNoPartTwice(t *testing.T) {
	var log buffer
	s := testStreams(&log, false)
	s.fail("rollout", 1, errors.New(`rollout: rollout: reward "x": reward "x": no`))
	s.fail("try", 1, errors.New(`try: rollout: rollout: no`))
	if want := "rollmill rollout: reward \"x\": no\nrollmill try: rollout: no\n"; log.String() != want {
		t.Errorf("%q, want %q", log.String(), want)
	}
}

// TestAnInterruptedStageSaysWhatIsKept checks that a signal is told in place of the step
// that it stopped.
func TestAnInterruptedStageSaysWhatIsKept(t *testing.T) {
	a := sample()
	ctx, cancel := context.WithCancelCause(t.Context())
	a.Commands = append(a.Commands, Command{Name: "stop", Body: With(func() *grind { return &grind{Size: "fine"} }, func(ctx context.Context, _ *Session, _ *grind) error {
		cancel(Interrupted{syscall.SIGTERM})
		return fmt.Errorf("stop: write shard 0 of 3: %w", context.Canceled)
	})})
	var out, log strings.Builder
	code := a.Run(ctx, []string{"rollmill", "stop"}, Streams{In: strings.NewReader(""), Out: &out, Err: &log, Lookup: func(string) (string, bool) { return "", false }})
	if want := "rollmill stop: terminated; finished stages, shards, attempts and answers of models are kept, and the same command continues\n"; code != 143 || log.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, log.String(), want)
	}
}
