package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestExitCodes checks the exit codes, which programs rely on: lines may be added
// to this table, but never changed.
func TestExitCodes(t *testing.T) {
	ctx := context.Background()
	gate := &manifest.GateError{URI: "x", Gates: []manifest.GateResult{{Gate: manifest.Gate{Name: "min-groups"}}}}
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing wrong", nil, 0},
		{"any error", errors.New("x"), 1},
		{"failed", fault.Errorf(fault.Failed, "", "x"), 1},
		{"failed for bad input", fault.Errorf(fault.Failed, "", "x: %w", fault.Invalid("x", "", nil, "x")), 4},
		{"usage", fmt.Errorf("score: %w", fault.Errorf(fault.Usage, "", "x")), 2},
		{"gate", fmt.Errorf("curate: %w", gate), 3},
		{"invalid input", fmt.Errorf("score: %w", fault.Invalid("x", "", nil, "x")), 4},
		{"missing input", fmt.Errorf("score: %w", storage.ErrNotExist), 4},
		{"a file for a folder", fmt.Errorf("report: %w", syscall.ENOTDIR), 4},
		{"budget", fault.Errorf(fault.Budget, "", "x"), 5},
		{"person", fault.Errorf(fault.Person, "", "x"), 6},
		{"temporary", fault.Errorf(fault.Temporary, "", "x"), 75},
		{"a full disk", fmt.Errorf("score: %w", syscall.ENOSPC), 1},
		{"temporary storage", fmt.Errorf("score: %w", storage.ErrTemporary), 75},
	} {
		if got := exitCode(ctx, c.err); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(Interrupted{signal})
		if got := exitCode(ctx, fmt.Errorf("score: %w", context.Canceled)); got != want {
			t.Errorf("%v: exit code %d, want %d", signal, got, want)
		}
		if got := exitCode(ctx, nil); got != 0 {
			t.Errorf("%v after the work was done: exit code %d, want 0", signal, got)
		}
	}
}

// TestExitHelp compares the list in --help with the codes of exitCode.
func TestExitHelp(t *testing.T) {
	want := []int{0, 1, 2, 3, 4, 5, 6, 70, 75, 130, 134, 137, 143}
	var got []int
	for _, e := range exitCodes {
		got = append(got, e.code)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("--help lists %v, want %v", got, want)
	}
	for _, code := range want {
		if line := fmt.Sprintf("\n  %3d  ", code); !strings.Contains(sample().appHelp(), line) {
			t.Errorf("rollmill --help does not list %d", code)
		}
	}
	for _, cmd := range sample().runnable() {
		if !strings.Contains(cmd.full(cmd.fresh()), exitHelp()) {
			t.Errorf("rollmill help %s does not list the exit codes", cmd.Name)
		}
		if !strings.Contains(cmd.brief(cmd.fresh()), "exit codes: `rollmill --help`") {
			t.Errorf("rollmill %s --help does not say where the exit codes are", cmd.Name)
		}
	}
}

// TestSchedulers compares the codes after which the files of pipelines start a command
// again with the list of exit codes: after any other code nobody starts it again, so
// that a crash or wrong usage is paid for once.
func TestSchedulers(t *testing.T) {
	retried := fmt.Sprint([]int{ExitTemporary, ExitKilled, ExitTerminated})
	for _, c := range []struct{ file, codes, want string }{
		{"kubernetes/stage.yaml", `action: FailJob\s+onExitCodes: {containerName: rollmill, operator: NotIn, values: \[(.*)\]}`, retried},
		{"argo/epoch.yaml", `lastRetry.status == "Error" \|\| asInt\(lastRetry.exitCode\) in \[(.*)\]`, retried},
		{"airflow/rollmill_epoch.py", `\nRETRIED = \((.*)\)`, retried},
		{"ray/epoch.py", `\nRETRIED = \((.*)\)`, retried},
		// Slurm itself starts what it ended
		{"stage.sh", `\$code = ([0-9]+) \] && \[ "\$\{SLURM_RESTART_COUNT:-0\}" -lt "\$RETRIES"`, fmt.Sprint([]int{ExitTemporary})},
	} {
		text, err := os.ReadFile("../../../pipelines/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.codes).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s: no list of codes", c.file)
			continue
		}
		var got []int
		for _, word := range strings.Split(string(found[1]), ", ") {
			code, err := strconv.Atoi(word)
			if err != nil {
				t.Error(err)
			}
			got = append(got, code)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s starts a command again after %v, want %s", c.file, got, c.want)
		}
	}
}
