package rollout_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// TestAChildInASessionOfItsOwnEnds: setsid takes it out of the program's
// group; it ends with the program all the same, whether that ended by itself or
// was ended.
func TestAChildInASessionOfItsOwnEnds(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid")
	}
	for name, last := range map[string]string{"by itself": "", "when told to": "sleep 1000"} {
		t.Run(name, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			script := "setsid sh -c 'exec 3>" + pipe + "; echo here >&3; exec sleep 1000' >/dev/null 2>&1 & read go <" + pipe + ".go; " + last
			if err := syscall.Mkfifo(pipe+".go", 0o600); err != nil {
				t.Fatal(err)
			}
			go func() {
				_, err := agents.Run(ctx, process.Program{Words: []string{"sh", "-c", script}, Grace: 100 * time.Millisecond})
				ended <- err
			}()
			r, err := os.Open(pipe) // until the child opens its end
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			text := make([]byte, 64)
			if n, err := r.Read(text); !strings.HasPrefix(string(text[:n]), "here") {
				t.Fatalf("%q, %v", text[:n], err)
			}
			if err := os.WriteFile(pipe+".go", []byte("go\n"), 0); err != nil {
				t.Fatal(err)
			}
			if last != "" {
				cancel()
			}
			<-ended
			cancel()
			r.SetReadDeadline(time.Now().Add(20 * time.Second))
			if n, err := r.Read(text); n != 0 || os.IsTimeout(err) {
				t.Errorf("the child lives on: %d, %v", n, err)
			}
		})
	}
}
