package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// TestAChildInASessionOfItsOwnEndsWithTheProgram, which setsid takes out of its
// process group.
func TestAChildInASessionOfItsOwnEndsWithTheProgram(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	name, child := filepath.Join(dir, "reward.sh"), filepath.Join(dir, "child")
	script := fmt.Sprintf("#!/bin/sh\nsetsid sh -c 'echo $$ >%s.part; mv %s.part %s; exec sleep 1000' >/dev/null 2>&1 </dev/null &\nwhile [ ! -e %s ]; do "+
		"sleep 0.01; done\nread line\n", child, child, child, child)
	storagetest.Program(t, name, script)
	r := made(t, name, time.Minute)
	rewardtest.Score(t, r, rewardtest.Rows()[:1])
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(line), "sleep") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}
