package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"crashes": func() { os.Exit(crashes()) }, "crashes-aside": func() { os.Exit(crashesAside()) },
	})
}

// crashes panics in the command's goroutine, as a bug would.
func crashes() int {
	return sample().recoverCrash(func() int { panic("a bug \x1b]0;title\a") })
}

func crashesAside() int {
	return sample().recoverCrash(func() int {
		done := make(chan bool)
		go func() { panic("a bug aside") }()
		<-done
		return 0
	})
}

// TestCrashExitCode checks that a crash does not have the exit code of wrong usage,
// and prints where to report it.
func TestCrashExitCode(t *testing.T) {
	for _, c := range []struct {
		program string
		code    int
		says    string
	}{
		{"crashes", ExitCrash, "hint: this is a bug; please report it with the lines above: " + bugReports},
		{"crashes-aside", -1, "a bug aside"}, // by SIGABRT: 134 to a shell
	} {
		cmd := exec.Command(c.program)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d: %s", c.program, code, c.code, stderr.String())
		}
		if strings.ContainsAny(stderr.String(), "\x1b\a") {
			t.Errorf("%s prints raw escapes: %q", c.program, stderr.String())
		}
	}
	if out, _ := exec.Command("sh", "-c", "crashes-aside 2>/dev/null; echo $?").Output(); strings.TrimSpace(string(out)) != "134" {
		t.Errorf("a shell reports exit code %q, want 134", out)
	}
}
