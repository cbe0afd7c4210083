package rollout_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// serveLongAnswers is the process of BenchmarkRun's engine, so that its time does not count.
func serveLongAnswers() {
	e := &engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
		return recordertest.Reply{Content: strings.Repeat(fmt.Sprintf("word %d ", len(q.Messages)), 150)}
	}}
	e.StartServer()
	fmt.Println(e.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// cpu returns the time that this process has had on processors.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRun makes 16 trajectories of 60 calls, with the journal of answered calls and
// without. cpu-µs/call is what the recorder, the agent and the datasets take of processors.
func BenchmarkRun(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	server := exec.Command(self, "-test.run=^$")
	server.Env = append(os.Environ(), "ROLLOUT_TEST_ENGINE=1")
	in, _ := server.StdinPipe()
	out, _ := server.StdoutPipe()
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer server.Wait()
	defer in.Close()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	for _, mode := range []string{rollout.ResumeOff, rollout.ResumeOn} {
		b.Run("resume="+mode, func(b *testing.B) {
			dir, n := b.TempDir(), 0
			before := cpu()
			for b.Loop() {
				o := optionsAt(strings.TrimSpace(url), filepath.Join(dir, fmt.Sprint(n)), 16)
				o.Agent, o.Generations, o.Resume, o.Concurrency = talker{turns: 60}, 1, mode, 16
				if _, err := rollout.Run(context.Background(), o); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(n*16*60), "cpu-µs/call")
		})
	}
}
