package systemtest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// TestPruneKilledAtRandom kills prune at random moments while a reader reads the
// dataset that it removes. The reader gets all rows or the error that says that the
// dataset was pruned, and the next prune leaves what an undisturbed one leaves.
func TestPruneKilledAtRandom(t *testing.T) {
	inStores(t, func(t *testing.T, at func(string) string) {
		dice := rand.New(rand.NewPCG(11, 11))
		var took time.Duration
		kills := 0
		for trial := range trials() + 1 {
			root := at(fmt.Sprint("run-", trial))
			before := chaosRun(t, root)
			words := []string{"prune", "--root", root, "--keep-epochs", "1", "--grace", "0s", "--apply"}
			if trial == 0 {
				began := time.Now()
				finish(t, words)
				took = time.Since(began)
			} else {
				killed, err := killedAtRandom(t, dice, took, words, before)
				if killed {
					kills++
				}
				if err != nil && manifest.PrunedIn(err) == nil {
					t.Errorf("trial %d: the reader: %v", trial, err)
				}
				finish(t, words)
			}
			checkPruned(t, root)
		}
		t.Logf("%d trials, %d kills", trials(), kills)
	})
}

// killedAtRandom starts a command and kills it at a moment that is drawn from a little
// more than the time that it took undisturbed, while a dataset is read to its end. It
// reports whether the command was still there, and returns the reader's error.
func killedAtRandom(t *testing.T, dice *rand.Rand, took time.Duration, words []string, read *dataset.Dataset) (killed bool, err error) {
	t.Helper()
	reads := make(chan error, 1)
	go func() { reads <- readAll(t, read) }()
	cmd := exec.Command("rollmill", words...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(dice.Int64N(int64(took) * 5 / 4)))
	killed = cmd.Process.Signal(syscall.SIGKILL) == nil
	_ = cmd.Wait()
	return killed, <-reads
}

// chaosRun writes a run of two epochs and returns the rollout of the first.
func chaosRun(t *testing.T, root string) *dataset.Dataset {
	t.Helper()
	var first *dataset.Dataset
	for e := range 2 {
		uri := storage.Join(root, runroot.EpochFolder(e)+"/rollout")
		s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Params: map[string]any{"epoch": e}},
			shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		for rows := range randomtest.Trajectories(3, randomtest.Options{Groups: 40, Generations: 4, SampledTokens: 20, PromptTokens: 20, Messages: 3}) {
			if err := w.Write(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
		}
		res, err := s.Commit(t.Context(), shards.Outcome{})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = res.Sealed
		}
		at := func(stage string) string { return storage.Join(root, runroot.EpochFolder(e)+"/"+stage) }
		finish(t, []string{"score", "--in", uri, "--reward", "x=expr:generation", "--out", at("score")})
		finish(t, []string{"group", "--in", at("score"), "--out", at("group")})
		finish(t, []string{"curate", "--in", at("group"), "--out", at("curate")})
	}
	return first
}

// readAll reads a dataset to its end, row by row.
func readAll(t *testing.T, d *dataset.Dataset) error {
	r, err := dataset.NewReader[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		return err
	}
	defer r.Close()
	row := make([]formats.Trajectory, 1)
	for n := int64(0); ; n++ {
		if _, err := r.Read(row); errors.Is(err, io.EOF) && n == d.Rows {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// checkPruned checks that of the first epoch's rollout only its note is left, and
// that the rest of the run is sound.
func checkPruned(t *testing.T, root string) {
	t.Helper()
	at := func(e int, stage string) string { return storage.Join(root, runroot.EpochFolder(e)+"/"+stage) }
	if _, err := dataset.Open(t.Context(), at(0, "rollout"), dataset.OpenOptions{}); manifest.PrunedIn(err) == nil {
		t.Errorf("the old rollout: %v", err)
	}
	b, err := storage.Open(t.Context(), at(0, "rollout"))
	if err != nil {
		t.Fatal(err)
	}
	for o, err := range b.List(t.Context(), "") {
		if err != nil || o.Key != manifest.FileName && o.Key != ".rollmill/create-only" {
			t.Errorf("%q is there, %v", o.Key, err)
		}
	}
	checkSound(t, at(0, "score"))
	checkSound(t, at(0, "curate"))
	checkSound(t, at(1, "rollout"))
	checkSound(t, at(1, "score"))
}
