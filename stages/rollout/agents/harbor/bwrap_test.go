package harbor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBwrapSees: programs see no variable, no network and no file of this machine beside
// its system folders.
func TestBwrapSees(t *testing.T) {
	bubblewrap(t)
	t.Setenv("PLAIN_OF_OPERATOR", "canary-plain")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	inherited, err := os.Create(filepath.Join(t.TempDir(), "inherited"))
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	const flags = 2 // F_SETFD
	if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, inherited.Fd(), flags, 0); e != 0 {
		t.Fatal(e)
	}
	host, _ := os.Hostname()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dir := changed(t, "bwrap", map[string]string{
		"task.toml":     "artifacts = [\"/etc/shadow\", \"/app/away\", \"/etc/passwd\"]\n",
		"tests/test.sh": "#!/bin/bash\ncat report; [ \"$(cat report)\" = ok ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n",
	})
	work := fmt.Sprintf(`{ env | grep -v -E '^(HOME|PATH|PWD|SHLVL|_|OLDPWD)='; ls %[1]s /etc/shadow /etc/hostname /home /var; ln -s /etc/shadow /app/away; `+
		`bash -c 'echo >/dev/tcp/127.0.0.1/%[2]s' && echo reached; touch /usr/x /etc/x /etc/passwd; touch /run/rollmill/x && echo writes; [ "$(hostname)" = task ] || echo named; `+
		`mknod /tmp/disk b 8 0; id -un >/dev/null || echo nobody; `+
		`cat /proc/[0-9]*/environ | grep -a canary-plain; ls -l /proc/[0-9]*/fd | grep inherited; } 2>/dev/null >report; [ -s report ] || echo ok > report`, secret, port)
	result, _, err := attempt(t, on(t, "bwrap", nil), dir, says(work))
	if err != nil || *result.Reward != 1 {
		t.Errorf("%v: %+v", err, result)
	}
	for _, a := range result.Artifacts {
		if strings.Contains(a.Name, "shadow") || strings.Contains(a.Name, "away") || strings.Contains(a.Content, host) && len(host) > 4 {
			t.Errorf("it kept %s: %.100s", a.Name, a.Content)
		}
	}
	l.(*net.TCPListener).SetDeadline(time.Now())
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Error("a program reached this machine's loopback address")
	}
	for _, network := range []string{"network_mode = \"public\"", "allow_internet = true"} {
		_, _, err := attempt(t, on(t, "bwrap", nil), changed(t, "bwrap", map[string]string{"task.toml": "[environment]\n" + network + "\n"}), says())
		if class(err) != "start" || !strings.Contains(err.Error(), "bwrap has no network") {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// TestInstruction and TestBwrapInstruction: an instruction of any length and with several
// lines gets to the harness, in a variable and in a file.
func TestInstruction(t *testing.T)      { manyContainers(t); instructed(t, "podman") }
func TestBwrapInstruction(t *testing.T) { bubblewrap(t); instructed(t, "bwrap") }

func instructed(t *testing.T, runtime string) {
	for name, text := range map[string]string{"lines": asked, "long": "First line\n" + strings.Repeat("word ", 50000) + "end"} {
		dir := changed(t, runtime, map[string]string{
			"instruction.md": text,
			"task.toml":      "[environment]\nmemory_mb = 256\n",
			"tests/test.sh": fmt.Sprintf("#!/bin/bash\n[ $(wc -c <variable) = %d ] && [ $(wc -c <file) = %[1]d ] && [ $(cat exported) = %s ]; "+
				"echo $((1 - $?)) > /logs/verifier/reward.txt\n", len(text), map[string]string{"lines": "1", "long": "0"}[name]),
		})
		a := on(t, runtime, in(`printf %s "$INSTRUCTION" > variable; cat "$INSTRUCTION_FILE" > file; env | grep -c ^INSTRUCTION= > exported; true`))
		if result, _, err := attempt(t, a, dir, nil); err != nil || *result.Reward != 1 {
			t.Errorf("%s: %v %+v", name, err, result)
		}
	}
}
