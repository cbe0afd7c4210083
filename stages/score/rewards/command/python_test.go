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

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

const examples = "../../../../testdata/rewards/"

// python is one that has pyarrow: ROLLMILL_PYTHON, that of .venv-data, or
// the one on the PATH.
func python(t testing.TB) string {
	t.Helper()
	for _, p := range []string{os.Getenv("ROLLMILL_PYTHON"), "../../../../.venv-data/bin/python", "python3"} {
		if p == "" {
			continue
		}
		if strings.Contains(p, "/") {
			p, _ = filepath.Abs(p)
		}
		if exec.Command(p, "-c", "import pyarrow").Run() == nil {
			return p
		}
	}
	t.Skip("no Python with pyarrow: set ROLLMILL_PYTHON")
	return ""
}

// moduleReward are the words after python that serve rewards written with the
// module of cmd/python, which has to be set with module.
const moduleReward = "-m rollmill " + examples + "module_reward.py"

func module(t testing.TB) {
	t.Helper()
	src, err := filepath.Abs("../../../../cmd/python/src")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", src)
}

// TestPythonExamples: all programs keep the suite, and give the same values.
func TestPythonExamples(t *testing.T) {
	py := python(t)
	jsonWords, arrowWords := fmt.Sprintf("'%s' %sjson_reward.py", py, examples), fmt.Sprintf("'%s' %sarrow_reward.py", py, examples)
	t.Run("json", func(t *testing.T) {
		rewardtest.Run(t, rewardtest.Suite{Kind: command.Kind, Arguments: jsonWords, Known: []string{"tree"}})
	})
	t.Run("arrow", func(t *testing.T) {
		rewardtest.Run(t, rewardtest.Suite{Kind: command.Arrow, Arguments: arrowWords, Known: []string{"tree"}})
	})
	module(t)
	moduleLines, moduleBatches := fmt.Sprintf("'%s' %s:short", py, moduleReward), fmt.Sprintf("'%s' %s:shorts", py, moduleReward)
	t.Run("module, json", func(t *testing.T) {
		rewardtest.Run(t, rewardtest.Suite{Kind: command.Kind, Arguments: moduleLines, Known: []string{"tree"}})
	})
	t.Run("all the same", func(t *testing.T) {
		want := rewardtest.Score(t, madeOf(t, command.Kind, jsonWords, time.Minute), wide(64))
		for words, kind := range map[string]score.RewardKind{arrowWords: command.Arrow, moduleLines: command.Kind, moduleBatches: command.Arrow} {
			got := rewardtest.Score(t, madeOf(t, kind, words, time.Minute), wide(64))
			if diff := cmp.Diff(want, got); diff != "" || want[0].Failure != "" {
				t.Errorf("-JSON +%s:\n%s", words, diff)
			}
		}
	})
}

// columnsProgram is a reward that is a number made of every column but the
// messages' own; with the word arrow it speaks record batches.
const columnsProgram = `
import hashlib, json, sys

names = ["example_id", "model", "answer", "status", "stop_reason", "seed", "epoch", "generation", "prompt_tokens", "completion_tokens", "sampled_tokens"]

def reward(row, example, metadata, tool_sets, rewards):
    seen = [[row[name] for name in names], example, metadata, tool_sets, rewards]
    digest = hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()
    return int(digest[:12], 16) / 16.0**12

if sys.argv[1] == "lines":
    for line in sys.stdin:
        row = json.loads(line)
        value = reward(row, row["example"], row["metadata"], row["tool_sets"], row["rewards"])
        print(json.dumps({"id": row["id"], "reward": value}), flush=True)
else:
    import pyarrow as pa
    schema = pa.schema([("id", pa.string()), ("reward", pa.float64())])
    with pa.ipc.open_stream(sys.stdin.buffer) as asked, pa.ipc.new_stream(sys.stdout.buffer, schema) as answers:
        for rows in asked:
            values = [reward(row, json.loads(row["example"]), json.loads(row["metadata"]), [json.loads(set) for set in row["tool_sets"]], dict(row["rewards"]))
                      for row in rows.to_pylist()]
            answers.write_batch(pa.record_batch([rows["id"], pa.array(values, pa.float64())], schema=schema))
            sys.stdout.buffer.flush()
`

// TestPythonSeesTheSameColumns in lines as in record batches.
func TestPythonSeesTheSameColumns(t *testing.T) {
	program := filepath.Join(t.TempDir(), "columns.py")
	if err := os.WriteFile(program, []byte(columnsProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	words := fmt.Sprintf("'%s' %s ", python(t), program)
	rows := wide(64)
	for i, r := range rows {
		r.Metadata, r.Example, r.ExampleID = fmt.Sprintf(`{"row":%d,"deep":{"a":[1,2.5,null]}}`, i), `{"question":"é","n":1}`, fmt.Sprint("ex-", i)
		r.Epoch, r.Generation, r.ToolSets = int32(i), int32(i%8), []string{`[{"type":"function","function":{"name":"f"}}]`, `[]`}[:i%3]
		value := float64(i) / 3
		r.Known = []formats.NamedReward{{Name: "first", Value: &value}, {Name: "none"}}[:i%3]
	}
	lines := rewardtest.Score(t, madeOf(t, command.Kind, words+"lines", time.Minute), rows)
	batches := rewardtest.Score(t, madeOf(t, command.Arrow, words+"arrow", time.Minute), rows)
	if diff := cmp.Diff(lines, batches); diff != "" {
		t.Errorf("-JSON +Arrow:\n%s", diff)
	}
	distinct := map[float64]bool{}
	for _, v := range lines {
		if v.Failure != "" {
			t.Fatalf("%+v", v)
		}
		distinct[v.Reward] = true
	}
	if len(distinct) != len(rows) {
		t.Errorf("%d rows have %d values", len(rows), len(distinct))
	}
}

// wide are rows of about 20 messages and 2,000 sampled tokens each.
func wide(n int) []*score.Row {
	var rows []*score.Row
	for group := range randomtest.Trajectories(5, randomtest.Options{Groups: (n + 7) / 8, Generations: 8, Messages: 20, SampledTokens: 2000}) {
		for i := range group {
			if group[i].Status == outcomes.StatusOK || group[i].Status == outcomes.StatusTruncated {
				rows = append(rows, &score.Row{Trajectory: &group[i]})
			}
		}
	}
	return rows
}

// processors is the time, in seconds, that this process and its children have
// had of the processors.
func processors() (seconds float64) {
	pids := "self"
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range lists {
		more, _ := os.ReadFile(name)
		pids += " " + string(more)
	}
	for _, pid := range strings.Fields(pids) {
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if _, rest, ok := strings.Cut(string(stat), ") "); ok {
			for _, ticks := range strings.Fields(rest)[11:13] {
				n, _ := strconv.ParseFloat(ticks, 64)
				seconds += n / 100
			}
		}
	}
	return seconds
}

// BenchmarkPython is the same trivial reward through both protocols, bare and
// with the module, on wide text rows: make bench/rewards. CPU is that of both sides, for machines with
// something else to do.
func BenchmarkPython(b *testing.B) {
	py := python(b)
	module(b)
	for _, p := range []struct {
		name  string
		kind  score.RewardKind
		words string
	}{
		{"json", command.Kind, examples + "json_reward.py"},
		{"json, with the module", command.Kind, moduleReward + ":short"},
		{"arrow", command.Arrow, examples + "arrow_reward.py"},
		{"arrow, with the module", command.Arrow, moduleReward + ":shorts"},
	} {
		b.Run(p.name, func(b *testing.B) {
			r := rewardtest.New(b, p.kind, fmt.Sprintf("'%s' %s", py, p.words))
			rows := wide(2048)
			values := make([]score.Value, len(rows))
			text := 0
			for _, row := range rows {
				for _, m := range row.Messages {
					text += len(m.Content)
				}
			}
			if err := r.Score(b.Context(), rows, values); err != nil { // started
				b.Fatal(err)
			}
			n, before := 0, processors()
			for b.Loop() {
				if err := r.Score(b.Context(), rows, values); err != nil {
					b.Fatal(err)
				}
				n += len(rows)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric((processors()-before)/float64(n)*1e6, "cpu-µs/row")
			b.ReportMetric(float64(text)/float64(len(rows)), "bytes/row")
		})
	}
}
