package train_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/pipelines/report"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/pipelines/train"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/group/estimators"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	program "github.com/rollmill/rollmill/stages/rollout/agents/command"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

var long = flag.Bool("long", false, "run the tests that take minutes")

// demoRun is a run of the demo with its own seed.
type demoRun struct {
	seed     int64
	epochs   int
	rate     float64
	shuffled bool
}

// won runs the demo and returns the share of won held-out games before and after
// it.
func (l demoRun) won(t *testing.T, tictactoe string) (before, after float64) {
	t.Helper()
	ctx := context.Background()
	server, err := sandbox.New(sandbox.Options{Seed: l.seed})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	defer server.Close()
	root := t.TempDir()
	if _, err := train.Run(ctx, l.options(t, tictactoe, web.Listener.Addr().(*net.TCPAddr).Port, root)); err != nil {
		t.Fatal(err)
	}
	run, err := report.Make(ctx, report.Options{Root: root, NoFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	return *run.Epochs[0].Validation.Mean, *run.Epochs[l.epochs].Validation.Mean
}

func (l demoRun) options(t *testing.T, tictactoe string, port int, root string) train.Options {
	t.Helper()
	agent, err := (&program.Settings{Command: []string{tictactoe, "play"}}).Agent(t.Context(), agents.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := art.New(art.Config{Port: port, Name: "demo", Project: "demoRun", BaseModel: sandbox.DefaultBaseModel,
		Training: art.Training{LearningRate: &l.rate}, Target: "demoRun"})
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := storage.Open(context.Background(), filepath.Join(root, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	play := func(seed, offset, count, generations int) rollout.Options {
		set, ref := games(t, tictactoe, seed, offset, count)
		return rollout.Options{Run: fmt.Sprintf("demoRun-%d", l.seed), Examples: set, ExamplesRef: ref, Generations: generations, Agent: agent,
			SamplingSeed: &l.seed, Concurrency: 8}
	}
	judge := func(spec string) score.Options {
		s, err := score.ParseReward(spec)
		if err != nil {
			t.Fatal(err)
		}
		return score.Options{Registry: plugin.NewRegistry("reward", append(rewards.All.All(), shuffled(l.seed))...), Rewards: []score.Spec{s}}
	}
	kind := "command"
	if l.shuffled {
		kind = "shuffled"
	}
	return train.Options{
		Root: root, Epochs: l.epochs,
		Rollout: play(int(l.seed), 0, 64, 8),
		Score:   judge("tree=" + kind + ":" + tictactoe + " reward"),
		Group:   group.Options{Estimator: plugin.Pick(estimators.All, group.DefaultEstimator), Compat: group.CompatART},
		Curate:  curate.Options{Rules: plugin.Every(rules.All)},
		Submit:  submit.Options{Trainer: trainer, Ledger: ledger},
		Validation: &train.Validation{Every: l.epochs, Rollout: play(1000+int(l.seed), 1_000_000, heldOut, 1),
			Score: judge("won=command:" + tictactoe + " won")},
	}
}

// games returns the output of `tictactoe examples`.
func games(t *testing.T, tictactoe string, seed, offset, count int) (*examples.Set, manifest.Ref) {
	t.Helper()
	out, err := exec.Command(tictactoe, "examples", "--count", strconv.Itoa(count), "--seed", strconv.Itoa(seed), "--offset", strconv.Itoa(offset)).Output()
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := examples.Read("games.jsonl", bytes.NewReader(out), int64(len(out)), examples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	h.Write(out)
	return set, manifest.Ref{Role: "examples", Digest: fmt.Sprintf("%x", h.Sum64())}
}

// shuffled is the command reward with its values shuffled within each group: the
// same values, on the wrong trajectories.
func shuffled(seed int64) score.RewardKind {
	return score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{Name: "shuffled", New: func() score.RewardSettings {
		return shuffledSettings{&command.Settings{}, seed}
	}}}
}

type shuffledSettings struct {
	*command.Settings
	seed int64
}

func (s shuffledSettings) Reward(setup score.Setup) (score.Reward, error) {
	inner, err := s.Settings.Reward(setup)
	return shuffling{inner, s.seed}, err
}

type shuffling struct {
	score.Reward
	seed int64
}

// Describe says that a value depends on the row's whole group.
func (s shuffling) Describe() score.Description {
	d := s.Reward.Describe()
	d.Relative = true
	return d
}

func (s shuffling) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	if err := s.Reward.Score(ctx, rows, values); err != nil {
		return err
	}
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].ExampleID == rows[from].ExampleID {
			to++
		}
		group := values[from:to]
		seed := formats.Seed(s.seed, "shuffle", rows[from].TrajectoryID)
		rand.New(rand.NewPCG(uint64(seed), 0)).Shuffle(len(group), func(i, j int) { group[i], group[j] = group[j], group[i] })
		from = to
	}
	return nil
}

// TestLearns runs the demo through all five stages: the share of won held-out games
// rises on every seed, does not change with a learning rate of 0, and hardly changes
// with rewards that are unrelated to the games.
func TestLearns(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: make learn SEEDS=5")
	}
	seeds := 5
	if s := os.Getenv("SEEDS"); s != "" {
		seeds, _ = strconv.Atoi(s)
	}
	tictactoe := game(t)
	const epochs, rate = 15, learningRate
	rise := 0.0
	for seed := int64(1); seed <= int64(seeds); seed++ {
		before, after := demoRun{seed: seed, epochs: epochs, rate: rate}.won(t, tictactoe)
		t.Logf("seed %d: %.3f -> %.3f", seed, before, after)
		if after-before < 0.20 || after < 0.75 {
			t.Errorf("seed %d: the share of won games went from %.3f to %.3f, want a rise of 0.20 to at least 0.75", seed, before, after)
		}
		b, a := demoRun{seed: seed, epochs: epochs, rate: rate, shuffled: true}.won(t, tictactoe)
		t.Logf("seed %d, rewards shuffled: %.3f -> %.3f", seed, b, a)
		rise += (a - b) / float64(seeds)
	}
	if rise >= 0.10 {
		t.Errorf("with shuffled rewards the share rises by %.3f in the mean, want less than 0.10", rise)
	}
	before, after := demoRun{seed: 1, epochs: 3, rate: 0}.won(t, tictactoe)
	t.Logf("learning rate 0: %.3f -> %.3f", before, after)
	if math.Abs(after-before) > noise {
		t.Errorf("with a learning rate of 0 the share went from %.3f to %.3f", before, after)
	}
}

// noise is three standard deviations of the difference of two shares, each of
// heldOut games won with probability a half.
var noise = 3 * math.Sqrt(2*0.25/heldOut)

const heldOut = 400

// learningRate is the value in pipelines/demo/rollmill.yaml.
const learningRate = 0.01

func TestLearningRateIsTheDemos(t *testing.T) {
	data, err := os.ReadFile("../demo/rollmill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("learning-rate: %v\n", learningRate); !strings.Contains(string(data), want) {
		t.Errorf("the demo's config has no line %q", want)
	}
}
