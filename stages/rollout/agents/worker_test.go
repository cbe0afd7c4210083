package agents_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// A worker that failed before it was asked says why in the first answer.
func TestWorkerThatFailsBeforeItIsAskedSaysWhy(t *testing.T) {
	w, err := agents.StartWorker(process.Program{Words: []string{"sh", "missing.sh"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for !w.Ended() {
		time.Sleep(time.Millisecond)
	}
	var log strings.Builder
	_, err = w.Ask(t.Context(), "id", []byte("{}\n"), &log)
	if err == nil || !strings.Contains(err.Error(), "missing.sh") || !strings.Contains(log.String(), "missing.sh") {
		t.Errorf("error %v, log %q", err, &log)
	}
}

// A worker that ends by itself fails with its own exit status, and not with the signal that
// ends what is left of it.
func TestWorkerThatEndsSaysItsOwnStatus(t *testing.T) {
	w, err := agents.StartWorker(process.Program{Words: []string{"sh", "-c", "read q; exec >&-; sleep 0.2; echo SyntaxError >&2; exit 3"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err = w.Ask(t.Context(), "id", []byte("{}\n"), nil); err == nil || !strings.Contains(err.Error(), "exit status 3: SyntaxError") {
		t.Errorf("error %v", err)
	}
}

// What a worker writes between attempts is dropped, however much it is: the next
// attempt is answered.
func TestWorkersMayWriteAnythingBetweenAttempts(t *testing.T) {
	for name, noise := range map[string]string{
		"a giant line": `head -c 3000000 /dev/zero | tr '\0' x; echo`,
		"many lines":   `head -c 3000000 /dev/zero | tr '\0' '\n'`,
		"an answer":    `echo '{"trajectory_id":"b","answer":"early"}'`,
		"no JSON":      `echo '{{{'; echo '[1'`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			script := `read q; echo '{"trajectory_id":"a"}'; sleep 0.2; ` + noise +
				`; : > "$1"/done; read q; echo '{"trajectory_id":"b","answer":"late"}'; read q`
			w, err := agents.StartWorker(process.Program{Words: []string{"sh", "-c", script, "sh", dir}})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			if _, err := w.Ask(t.Context(), "a", []byte("{}\n"), nil); err != nil {
				t.Fatal(err)
			}
			for {
				if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond) // until it was read; if it was not, the answer is the early one
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if out, err := w.Ask(ctx, "b", []byte("{}\n"), nil); err != nil || !strings.Contains(string(out), "late") {
				t.Errorf("%s %v", out, err)
			}
		})
	}
}
