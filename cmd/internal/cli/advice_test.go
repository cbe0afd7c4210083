package cli

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
)

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
	code := a.Run(ctx, []string{"rollmill", "stop"}, terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &log, Lookup: func(string) (string, bool) { return "", false }})
	if want := "rollmill stop: terminated; finished stages, shards, attempts and answers of models are kept, and the same command continues\n"; code != 143 || log.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, log.String(), want)
	}
}
