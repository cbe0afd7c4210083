package systemtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// TestNoProgramOutlivesAKill: rollmill is killed while its agents, workers or reward programs run, which ignore SIGTERM, as
// does what they started.
func TestNoProgramOutlivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	tasks := write("tasks.jsonl", "{\"id\":\"a\",\"question\":\"q\"}\n{\"id\":\"b\",\"question\":\"r\"}\n")
	chats := write("chats.jsonl", `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`+"\n")
	rows := filepath.Join(dir, "rows")
	if out, err := exec.Command("rollmill", "import", "--from", "chat", "--in", chats, "--out", rows, "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e := (&recordertest.Engine{Model: "policy"}).Start(t)
	rollout := []string{"rollout", "--examples", tasks, "--generations", "2", "--url", e.URL(), "--model", "policy", "--no-logprobs", "--quiet"}
	for name, c := range map[string]struct {
		args     []string
		programs int
	}{
		"agents":  {append(rollout, "--concurrency", "4", "--agent", "command: sh stubborn.sh"), 4},
		"workers": {append(rollout, "--concurrency", "4", "--agent", "command: sh stubborn.sh", "--agent-workers", "2"), 2},
		"rewards": {[]string{"score", "--in", rows, "--reward", "r=command: sh stubborn.sh", "--quiet"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			pipe := filepath.Join(work, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			script := "trap '' TERM\nexec 3>" + pipe + "\nsh -c 'while :; do sleep 1000; done' &\necho here >&3\nwhile :; do sleep 1000; done\n"
			if err := os.WriteFile(filepath.Join(work, "stubborn.sh"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("rollmill", append(c.args, "--out", filepath.Join(work, "out"))...)
			cmd.Dir = work
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			r, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			r.SetReadDeadline(time.Now().Add(time.Minute))
			lines := bufio.NewReader(r)
			for range c.programs {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second) // a program speaks before rollmill has noted it
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v: a program has its pipe open still", rest, err)
			}
		})
	}
}
