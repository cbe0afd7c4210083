package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/s3test"
)

// chaosStages lists the stages that write one dataset from another, or from
// files, each with a setting that changes the output.
var chaosStages = []struct {
	name string
	args func(nth int) []string
}{
	{"score", func(nth int) []string { return []string{"--reward", fmt.Sprintf("x=expr:%d", nth)} }},
	{"group", func(nth int) []string { return []string{"--solved-threshold", fmt.Sprintf("0.%d", 1+nth)} }},
	{"import", func(nth int) []string { return []string{"--from", "chat", "--epoch", strconv.Itoa(nth)} }},
	{"curate", func(nth int) []string { return []string{"--min-groups", "0", "--seed", strconv.Itoa(nth)} }},
}

func trials() int {
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil {
		return n
	}
	return 2
}

// inStores runs a test on a local disk and on a bucket.
func inStores(t *testing.T, f func(t *testing.T, at func(name string) string)) {
	t.Run("disk", func(t *testing.T) {
		dir := t.TempDir()
		f(t, func(name string) string { return filepath.Join(dir, name) })
	})
	t.Run("bucket", func(t *testing.T) {
		s := s3test.Start(t)
		f(t, func(name string) string { return s.URI("chaos/" + name) })
	})
}

// chaosInputs writes what each stage reads.
func chaosInputs(t *testing.T, at func(string) string) map[string]string {
	t.Helper()
	s, err := shards.Begin(t.Context(), at("rollout"), manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	for rows := range randomtest.Trajectories(3, randomtest.Options{Groups: 40, Generations: 4, SampledTokens: 20, PromptTokens: 20, Messages: 3, Scored: true}) {
		if err := w.Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	finish(t, []string{"group", "--in", at("rollout"), "--out", at("grouped")})
	return map[string]string{"score": at("rollout"), "group": at("rollout"), "curate": at("grouped"), "import": chaosFile(t)}
}

// chaosFile writes conversations whose groups are not adjacent.
func chaosFile(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&b, "{\"messages\":[{\"role\":\"user\",\"content\":\"question %d\"},{\"role\":\"assistant\",\"content\":\"answer %d\"}],\"reward\":%d}\n",
			i%500, i, i%3)
	}
	name := filepath.Join(t.TempDir(), "chat.jsonl")
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// checkSound verifies a dataset and checks that no other files are next to it.
func checkSound(t *testing.T, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.Verify(t.Context(), d); err != nil {
		t.Error(err)
	}
	if left, err := d.Unnamed(t.Context()); err != nil || left != nil {
		t.Errorf("no record names %q, %v", left, err)
	}
	return d
}

// TestStagesKilledAtRandom kills a stage at random moments, alone or while a copy
// of it runs, as it writes or overwrites a dataset. The same command then makes
// the rows of an undisturbed run, and leaves no other files.
func TestStagesKilledAtRandom(t *testing.T) {
	inStores(t, func(t *testing.T, at func(string) string) {
		in := chaosInputs(t, at)
		for i, stage := range chaosStages {
			t.Run(stage.name, func(t *testing.T) {
				dice := rand.New(rand.NewPCG(7, uint64(i)))
				args := func(out string, nth int, more ...string) []string {
					return append(append([]string{stage.name, "--in", in[stage.name], "--out", out}, stage.args(nth)...), more...)
				}
				calm := at(stage.name + "-calm")
				began := time.Now()
				finish(t, args(calm, 1))
				took := time.Since(began)
				want := checkSound(t, calm).RowsDigest
				kills := 0
				for trial := range trials() {
					out := at(fmt.Sprintf("%s-%d", stage.name, trial))
					var more []string
					if trial%2 == 1 {
						finish(t, args(out, 2))
						more = []string{"--overwrite"}
					}
					var racing []*exec.Cmd
					for range 1 + trial/2%2 {
						cmd := exec.Command("rollmill", args(out, 1, more...)...)
						if err := cmd.Start(); err != nil {
							t.Fatal(err)
						}
						racing = append(racing, cmd)
					}
					time.Sleep(time.Duration(dice.Int64N(int64(took) * 5 / 4)))
					if racing[0].Process.Signal(syscall.SIGKILL) == nil {
						kills++
					}
					for _, cmd := range racing {
						_ = cmd.Wait()
					}
					finish(t, args(out, 1, more...))
					if d := checkSound(t, out); d.RowsDigest != want {
						t.Errorf("trial %d: rows %s, want %s", trial, d.RowsDigest, want)
					}
				}
				t.Logf("%d trials, %d kills", trials(), kills)
			})
		}
	})
}

// TestOverwriteRaces runs several commands that overwrite one dataset, and suspends
// one of them for a while. The final dataset is complete and is the output of a
// command that succeeded. A command that started from a dataset that was replaced
// meanwhile fails and leaves no files.
func TestOverwriteRaces(t *testing.T) {
	inStores(t, func(t *testing.T, at func(string) string) {
		in := chaosInputs(t, at)
		stage := chaosStages[0]
		dice := rand.New(rand.NewPCG(9, 9))
		won, lost := 0, 0
		for trial := range trials() {
			out := at(fmt.Sprint("race-", trial))
			finish(t, append([]string{stage.name, "--in", in[stage.name], "--out", out}, stage.args(9)...))
			racers := 2 + trial%2
			ended := make([]error, racers)
			var racing []*exec.Cmd
			said := make([]bytes.Buffer, racers)
			for nth := range racers {
				cmd := exec.Command("rollmill", append([]string{stage.name, "--in", in[stage.name], "--out", out, "--overwrite"}, stage.args(nth)...)...)
				cmd.Stderr = &said[nth]
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				racing = append(racing, cmd)
			}
			time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
			_ = racing[0].Process.Signal(syscall.SIGSTOP)
			for nth, cmd := range racing[1:] {
				ended[nth+1] = cmd.Wait()
			}
			_ = racing[0].Process.Signal(syscall.SIGCONT)
			ended[0] = racing[0].Wait()
			winners := 0
			for nth, err := range ended {
				exit := (*exec.ExitError)(nil)
				switch {
				case err == nil:
					won++
					winners++
				case errors.As(err, &exit) && (exit.ExitCode() == cli.ExitUsage || exit.ExitCode() == cli.ExitTemporary):
					lost++
				default:
					t.Errorf("trial %d, racer %d: %v\n%s", trial, nth, err, &said[nth])
				}
			}
			checkSound(t, out)
			if winners == 0 {
				t.Errorf("trial %d: no command replaced the dataset", trial)
			}
		}
		t.Logf("%d trials: %d commands replaced the dataset, %d were refused", trials(), won, lost)
	})
}
