package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/storagetest"
)

func words(mode ...string) string {
	return "'" + os.Args[0] + "' program " + strings.Join(mode, " ")
}

func TestConformance(t *testing.T) {
	for _, mode := range []string{"plain", "chatty", "crash", "noid", "stranger", "nan", "null", "error", "quit", "flood", "twice", "reversed",
		"seed", "shaped"} {
		t.Run(mode, func(t *testing.T) {
			bad := badAnswer
			if mode == "plain" || mode == "chatty" || mode == "twice" || mode == "reversed" || mode == "seed" || mode == "shaped" {
				bad = ""
			}
			rewardtest.Run(t, rewardtest.Suite{Kind: command.Kind, Arguments: words(mode), Known: []string{"tree"}, Bad: bad})
		})
	}
}

// TestVerifiersConformance: it is the same protocol with a program of its own, in whose
// place the test's stands.
func TestVerifiersConformance(t *testing.T) {
	folder := t.TempDir()
	script := "#!/bin/sh\n[ \"$1 $2 $3 $4\" = '-m rollmill.verifiers score adds' ] && exec " + words("plain") + "\n"
	storagetest.Program(t, filepath.Join(folder, "python3"), script)
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	rewardtest.Run(t, rewardtest.Suite{Kind: command.Verifiers, Arguments: "adds", Known: []string{"tree"}})
}

// slow is a time limit that a program which is not stuck keeps, even when it
// has to be started first on a busy machine.
const slow = 5 * time.Second

// TestFailures has one bad row in the middle of a batch: it alone has no
// value, and its failure says what happened.
func TestFailures(t *testing.T) {
	for mode, want := range map[string]score.Value{
		"crash":    {Failure: outcomes.RewardCrashed, Error: "exit status 3; stderr ends: Traceback: the board is bad"},
		"quit":     {Failure: outcomes.RewardCrashed, Error: "ended without an answer: exit status 0"},
		"hang":     {Failure: outcomes.RewardTimeout, Error: "no answer within " + slow.String() + "; does the program flush"},
		"prose":    {Failure: outcomes.RewardAnswer, Error: `"I think it is good." is not an answer, and none came within ` + slow.String()},
		"flood":    {Failure: outcomes.RewardAnswer, Error: `"no!" is not an answer, and neither is one of 1000 lines`},
		"endless":  {Failure: outcomes.RewardAnswer, Error: "longer than 16 MiB"},
		"noid":     {Failure: outcomes.RewardAnswer, Error: "has no id"},
		"stranger": {Failure: outcomes.RewardAnswer, Error: "not asked about"},
		"nan":      {Failure: outcomes.RewardNotFinite, Error: "NaN"},
		"text":     {Failure: outcomes.RewardAnswer, Error: "a reward is a finite number"},
		"null":     {Failure: outcomes.RewardError, Error: "null"},
		"error":    {Failure: outcomes.RewardError, Error: "no such board"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if mode == "hang" || mode == "prose" {
				timeout = slow
			}
			r := made(t, words(mode), timeout)
			rows := rewardtest.Rows()
			rows[5].Answer = badAnswer
			values := rewardtest.Score(t, r, rows)
			for i, v := range values {
				if i == 5 && (v.Failure != want.Failure || !strings.Contains(v.Error, want.Error)) {
					t.Errorf("the bad row is %+v, want %+v", v, want)
				}
				if i != 5 && (v.Failure != "" || v.Reward != float64(len(rows[i].Answer)%7)) {
					t.Errorf("row %d is %+v although only row 5 is bad", i, v)
				}
			}
		})
	}
}

// TestAProgramThatDoesNotFlush ends the score after one time limit, with what to do.
func TestAProgramThatDoesNotFlush(t *testing.T) {
	t.Parallel()
	r, rows := made(t, words("unflushed"), slow), rewardtest.Rows()
	began := time.Now()
	err := r.Score(t.Context(), rows, make([]score.Value, len(rows)))
	want := fmt.Sprintf("its program was silent for %s, and gave %d answers once its input ended", slow, len(rows))
	if err == nil || err.Error() != want || !strings.Contains(fault.HintOf(err), "flush each answer") || time.Since(began) > 2*slow {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// TestPrintsAreIgnored and the first one is logged, whether they come before the
// first request or between answers, however many processes there are.
func TestPrintsAreIgnored(t *testing.T) {
	for name, kind := range map[string]score.RewardKind{"chatty": command.Kind, "arrow-chatty": command.Arrow} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			r, err := kind.Make(words(name), score.Setup{Name: "tried", Timeout: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rows := rewardtest.Rows()
			for range 2 {
				for i, v := range rewardtest.Score(t, r, rows) {
					if v.Failure != "" || v.Reward != float64(len(rows[i].Answer)%7) {
						t.Errorf("row %d is %+v", i, v)
					}
				}
			}
			if text := log.String(); strings.Count(text, "level=") != 1 || !strings.Contains(text, "level=WARN") ||
				!strings.Contains(text, `line="\"loading the model\""`) || !strings.Contains(text, "reward=tried") {
				t.Errorf("the log is %s", text)
			}
		})
	}
}

func made(t *testing.T, arguments string, timeout time.Duration) score.Reward {
	t.Helper()
	r, err := command.Kind.Make(arguments, score.Setup{Name: "tried", Timeout: timeout, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestShapedRewardsFitTheSampledMessages(t *testing.T) {
	r := made(t, words("shaped"), time.Minute)
	rows := rewardtest.Rows()[:2]
	rows[1].Messages[2].Sampled = false
	values := rewardtest.Score(t, r, rows)
	if len(values[0].Shaped) != 2 || values[0].Shaped[0] != 0.25 {
		t.Errorf("shaped rewards are %+v", values[0])
	}
	if values[1].Failure != outcomes.RewardAnswer || values[1].Error != "2 shaped rewards for 1 sampled messages" {
		t.Errorf("two shaped rewards for one sampled message are %+v", values[1])
	}
}

func TestSeedDecides(t *testing.T) {
	var all [][]score.Value
	for _, seed := range []int64{1, 1, 2} {
		r, err := command.Kind.Make(words("seed"), score.Setup{Name: "tried", Seed: seed, Timeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rewardtest.Score(t, r, rewardtest.Rows()))
		r.Close()
	}
	if cmp.Diff(all[0], all[1]) != "" || cmp.Diff(all[0], all[2]) == "" {
		t.Errorf("seeds 1, 1 and 2 gave\n%v\n%v\n%v", all[0], all[1], all[2])
	}
}

// TestAHungProgramsChildrenAreKilled with it: the time limit ends the group.
func TestAHungProgramsChildrenAreKilled(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := made(t, words("hang", pidFile), slow)
	rows := rewardtest.Rows()[:1]
	rows[0].Answer = badAnswer
	if v := rewardtest.Score(t, r, rows)[0]; v.Failure != outcomes.RewardTimeout {
		t.Errorf("a hung program's row is %+v", v)
	}
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(string(data))
	if gone := waitGone(t.Context(), pid); !gone {
		t.Errorf("its child %d is still running", pid)
	}
}

// waitGone waits until a process has ended (a zombie, whom init will reap,
// has).
func waitGone(ctx context.Context, pid int) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ") {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func TestCancellationEndsAHungProgram(t *testing.T) {
	r := made(t, words("hang"), time.Hour)
	rows := rewardtest.Rows()
	rows[0].Answer = badAnswer
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := r.Score(ctx, rows, make([]score.Value, len(rows))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled batch ended with %v", err)
	}
}

func TestBadProgramsAreUsageErrors(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                  "no program is named",
		"'unended":          "Unterminated",
		"no-such-program x": "executable file not found",
	} {
		_, err := command.Kind.Make(arguments, score.Setup{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("command:%s: error %v does not mention %q", arguments, err, want)
		}
	}
}

func BenchmarkProtocol(b *testing.B) {
	r := rewardtest.New(b, command.Kind, words("plain"))
	var rows []*score.Row
	for range 64 / 12 {
		for _, row := range rewardtest.Rows() {
			row.TrajectoryID += strconv.Itoa(len(rows))
			rows = append(rows, row)
		}
	}
	values := make([]score.Value, len(rows))
	n := 0
	for b.Loop() {
		if err := r.Score(b.Context(), rows, values); err != nil {
			b.Fatal(err)
		}
		n += len(rows)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
