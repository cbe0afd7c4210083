package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// echoTrainer is a program for backend command. It trains nothing, and gives back the recorded
// log probabilities, each BIAS higher, as lines of JSON: of the first KEEP rows, with VALUE as
// the first one, as a link if LINK.
func echoTrainer() {
	var request struct {
		Request  string
		Echo     bool
		Settings map[string]string
		Forms    map[string]struct{ URI string }
	}
	try := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	try(json.NewDecoder(os.Stdin).Decode(&request))
	if request.Request != "submit" {
		return
	}
	uri := request.Forms["sequences"].URI
	src, err := settings.OpenScored(context.Background(), uri)
	try(err)
	local := filepath.Join(os.TempDir(), fmt.Sprint("sequences-", os.Getpid()))
	data, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	try(err)
	try(os.WriteFile(local, data, 0o666))
	defer os.Remove(local)
	rows, err := rowsIn[trainers.SequenceRow](local)
	try(err)
	bias, keep := 0.0, len(rows)
	_, _ = fmt.Sscan(request.Settings["bias"], &bias)
	_, _ = fmt.Sscan(request.Settings["keep"], &keep)
	var lines strings.Builder
	for _, s := range rows[:keep] {
		e := trainers.EchoRow{TrajectoryID: s.TrajectoryID, Sequence: s.Sequence, Loss: new(0.0)}
		for i, lp := range s.Logprobs {
			e.Old = append(e.Old, lp+float32(bias))
			if s.LossMask[i] && s.Advantage != nil {
				*e.Loss -= s.Weight * *s.Advantage * math.Exp(float64(e.Old[i])-float64(lp)) / float64(s.Tokens)
			}
		}
		line, err := json.Marshal(e)
		try(err)
		if value := request.Settings["value"]; value != "" && lines.Len() == 0 {
			first, rest, _ := strings.Cut(string(line), `"old_logprobs":[`)
			_, rest, _ = strings.Cut(rest, ",")
			line = []byte(first + `"old_logprobs":[` + value + "," + rest)
		}
		lines.Write(append(line, '\n'))
	}
	folder, _ := storage.Split(uri)
	b, err := storage.Open(context.Background(), folder)
	try(err)
	if request.Settings["link"] != "" {
		try(os.WriteFile(request.Settings["link"], []byte(lines.String()), 0o666))
		_ = os.Symlink(request.Settings["link"], filepath.Join(folder, "echo.jsonl"))
	} else {
		draft, err := b.Draft(context.Background())
		try(err)
		_, err = io.WriteString(draft, lines.String())
		try(err)
		try(draft.Replace(context.Background(), "echo.jsonl"))
	}
	answer := map[string]any{"state": "completed", "step": 1}
	if request.Echo {
		answer["files"] = []string{storage.Join(folder, "echo.jsonl")}
	}
	try(json.NewEncoder(os.Stdout).Encode(answer))
}

// submitEchoed submits the epoch's batch to the trainer, as a batch of its own.
func submitEchoed(t *testing.T, epoch, out, ledger string, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	return rollmill(t, append([]string{"submit", "--in", epoch + "/curate", "--out", out, "--ledger", ledger, "--backend", "command", "--trainer",
		"echotrainer", "--form", "sequences", "--echo", "--wait", "--name", "other"}, words...)...)
}

// echoedRewards returns the rewards of scores.
func echoedRewards(t *testing.T, uri string) []string {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{IgnoreGates: true, Kind: schema.KindScores})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for s, err := range dataset.Each[formats.Score](t.Context(), d, "", d.All()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Rewards {
			found[r.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// TestEchoOfAnotherPolicy: a trainer whose log probabilities are not those that the engine
// recorded ends the epoch, unless the gate is accepted. So does one that gives back half of the
// batch. The receipt's URI is the result all the same.
func TestEchoOfAnotherPolicy(t *testing.T) {
	epoch := proved(t)
	for name, c := range map[string]struct{ setting, gate string }{
		"other log probabilities": {"bias=-0.1", "mismatch"}, "half": {"keep=6", "max-failure-rate"}, "one is missing": {"keep=11", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := epoch + "/" + strings.ReplaceAll(name, " ", "-") + "/submit"
			ledger := t.TempDir()
			code, stdout, stderr := submitEchoed(t, epoch, out, ledger, "--settings", c.setting)
			if want := map[bool]int{true: 3}[c.gate != ""]; code != want || !strings.Contains(stderr, c.gate) || stdout != out {
				t.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
			if c.gate == "" {
				return
			}
			code, _, stderr = submitEchoed(t, epoch, out, ledger, "--settings", c.setting, "--accept-gate", c.gate)
			if code != 0 {
				t.Errorf("accepted: exit code %d: %s", code, stderr)
			}
		})
	}
}

// TestEchoesOfTwoTrainersLieApart, each with the rewards that its trainer gave back alone,
// and are proved, whatever their folders are called.
func TestEchoesOfTwoTrainersLieApart(t *testing.T) {
	epoch := proved(t)
	names := []string{"submit-a", "half, x=1"}
	for _, name := range names {
		if code, _, stderr := submitEchoed(t, epoch, epoch+"/"+name, t.TempDir()); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	var found []string
	for _, p := range of(t, epoch, 0).Proofs {
		if strings.Contains(p.Name, "echo") && p.Unproved == "" && p.Rows > 0 {
			found = append(found, p.Name)
		}
	}
	slices.Sort(found)
	if want := []string{"echo", "echo-half, x=1", "echo-submit-a", "half, x=1/echo.parquet", "submit-a/echo.parquet", "submit/echo.parquet"}; !slices.Equal(found, want) {
		t.Errorf("proved: %q", found)
	}
	if got := echoedRewards(t, epoch+"/echo-"+names[1]); !slices.Equal(got, []string{"trainer", "trainer_loss"}) {
		t.Errorf("rewards %q", got)
	}
}

// TestEchoInABucketIsTheNewOne: in a bucket whose URI has parameters, another round of
// training is judged by its own echo.
func TestEchoInABucketIsTheNewOne(t *testing.T) {
	epoch := proved(t)
	out := s3test.Start(t).URI("runs/x/submit")
	ledger := t.TempDir()
	words := []string{"--trainer-env", "AWS_SECRET_ACCESS_KEY", "--trainer-env", "AWS_ACCESS_KEY_ID"}
	if code, _, stderr := submitEchoed(t, epoch, out, ledger, words...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	code, _, stderr := submitEchoed(t, epoch, out, ledger, append(words, "--settings", "bias=-0.1", "--resubmit", "--overwrite")...)
	if code != 3 || !strings.Contains(stderr, "mismatch") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestEchoThatIsALinkOutOfItsFolder is refused, and what it leads to is not read.
func TestEchoThatIsALinkOutOfItsFolder(t *testing.T) {
	epoch := proved(t)
	outside := filepath.Join(t.TempDir(), "outside")
	code, stdout, stderr := submitEchoed(t, epoch, epoch+"/linked", t.TempDir(), "--settings", "link="+outside)
	if code != 4 || !strings.Contains(stderr, "a link out of its folder") || !strings.Contains(stderr, "was trained") || stdout != epoch+"/linked" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	for _, name := range []string{"echo.parquet", "sequences.parquet"} {
		there := filepath.Join(epoch, "submit", name)
		moved := filepath.Join(t.TempDir(), name)
		if err := os.Rename(there, moved); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(moved, there); err != nil {
			t.Fatal(err)
		}
		_, stdout, stderr := rollmill(t, "prove", epoch)
		if !strings.Contains(stdout+stderr, "a link out of its folder") {
			t.Errorf("prove of %s: %s%s", name, stdout, stderr)
		}
	}
}

// TestEchoOfNumbersThatOverflow is refused with its file, row and column, or counted by row.
func TestEchoOfNumbersThatOverflow(t *testing.T) {
	type row struct {
		TrajectoryID string    `parquet:"trajectory_id"`
		Sequence     int32     `parquet:"sequence"`
		Old          []float64 `parquet:"old_logprobs,list"`
		Loss         float64   `parquet:"loss"`
	}
	epoch := proved(t)
	given, err := rowsIn[trainers.EchoRow](epoch + "/submit/echo.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first float64
		of    string
		code  int
		want  string
	}{{-1e300, "old", 4, `echo.parquet" row 0: column old_logprobs`}, {-1e38, "old", 0, ""}, {0, "loss", 3, given[0].TrajectoryID}} {
		name := filepath.Join(t.TempDir(), "echo.parquet")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w := parquet.NewWriter[row](f)
		for i, e := range given {
			r := row{e.TrajectoryID, e.Sequence, make([]float64, len(e.Old)), -1e308}
			if i == 0 {
				r.Old[0] = c.first
			}
			if err := w.Write([]row{r}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := rollmill(t, "score", "--in", epoch+"/curate", "--out", epoch+"/x", "--overwrite", "--reward", "t=echo:of="+c.of+",file="+name)
		if code != c.code || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "json:") {
			t.Errorf("%+v: exit code %d: %s", c, code, stderr)
		}
	}
}
