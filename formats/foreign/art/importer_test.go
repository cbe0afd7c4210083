package art

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/randomtest"
)

const samples = "../../../testdata/importers/art/"

// files are by openpipe-art 0.4.11, 0.5.17 and 0.5.23, and one to the letter of
// the schema.
var files = []string{samples + "trajectories.jsonl", samples + "trajectories.v1.parquet", samples +
	"trajectories.v2.parquet",
	"testdata/trajectories/train/0007.parquet", "testdata/written-to-the-schema.jsonl"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzLine(f *testing.F) {
	foreigntest.Fuzz(f, Importer, importers.Options{}, "trajectories/val/0001.jsonl",
		append(foreigntest.Seeds(f, 8000, files[0], files[4]), rows(f)...)...)
}

// rows returns the rows of the Parquet files as JSON, so that the fuzzer need not
// find out how Parquet is compressed.
func rows(f *testing.F) (seeds [][]byte) {
	for _, path := range files[1:4] {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for r, err := range importers.Rows.All(importers.File{Name: path, R: bytes.NewReader(data), Size: int64(len(data))}) {
			if err != nil {
				f.Fatal(err)
			}
			seeds = append(seeds, r.Data)
		}
	}
	return seeds
}

// random groups, as they are after curate: what ART can be sent.
func groups(t *testing.T) (out [][]formats.Trajectory) {
	for group := range randomtest.Trajectories(3,
		randomtest.Options{Groups: 30, Generations: 4, Messages: 8, SampledTokens: 40, PromptTokens: 30, Scored: true,
			Branches: 0.3}) {
		group = slices.Clone(group)
		sound := true
		Check(group, Limits{PlainAssistants: true}, func(p Problem) {
			sound = sound && (p.Reason == Flat || p.Reason == PrefixBreak)
		})
		if sound {
			out = append(out, group)
		}
	}
	if len(out) < 5 {
		t.Fatalf("%d of 30 groups can be sent", len(out))
	}
	return out
}

func items(t *testing.T, name string, data []byte) (out []importers.Item) {
	t.Helper()
	for p, err := range foreigntest.All(Importer, importers.File{Name: name, R: bytes.NewReader(data), Size: int64(len(data))}) {
		if err != nil || p.Err != nil || p.Losses != nil {
			t.Fatal(err, p.Err, p.Losses)
		}
		out = append(out, p.Items...)
	}
	return out
}

// TestWhatIsSentComesBack exports groups, imports them, and exports them again.
func TestWhatIsSentComesBack(t *testing.T) {
	for _, sent := range groups(t) {
		line := AppendGroup(nil, sent)
		back := items(t, "art.jsonl", line)
		rows := make([]formats.Trajectory, len(back))
		for i := range back {
			rows[i] = back[i].Row
		}
		if again := AppendGroup(nil, rows); !bytes.Equal(again, line) {
			t.Fatal(cmp.Diff(string(line), string(again)))
		}
		compare(t, sent, rows, true)
	}
}

// compare compares the messages and tokens of the main paths, and the rewards.
func compare(t *testing.T, sent, back []formats.Trajectory, tokens bool) {
	t.Helper()
	if len(sent) != len(back) {
		t.Fatalf("%d rows became %d", len(sent), len(back))
	}
	for i := range sent {
		a, b := conversation(&sent[i], tokens), conversation(&back[i], tokens)
		if diff := cmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if sent[i].ExampleID != back[i].ExampleID || sent[i].TrajectoryID != back[i].TrajectoryID ||
			*sent[i].Reward != *back[i].Reward {
			t.Errorf("%s %s %v became %s %s %v", sent[i].ExampleID, sent[i].TrajectoryID, *sent[i].Reward, back[i].ExampleID,
				back[i].TrajectoryID, *back[i].Reward)
		}
	}
}

func conversation(t *formats.Trajectory, tokens bool) (out []formats.Message) {
	for _, i := range t.Main() {
		m := t.Messages[i]
		kept := formats.Message{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls,
			Sampled: t.Trained(i)}
		if tokens && t.Trained(i) {
			kept.TokenIDs, kept.Logprobs, kept.FinishReason = m.TokenIDs, m.Logprobs, m.FinishReason
		}
		out = append(out, kept)
	}
	return out
}

// TestLogsComeBack writes groups to both versions of the Parquet log.
func TestLogsComeBack(t *testing.T) {
	for _, sent := range groups(t) {
		for name, data := range map[string][]byte{
			"v1": file(t, LogRows(sent, 0)),
			"v2": file(t, LogRows2(sent, 0)),
		} {
			back := items(t, "a/trajectories/val/0012.parquet", data)
			rows := make([]formats.Trajectory, len(back))
			for i := range back {
				rows[i] = back[i].Row
				if back[i].Epoch == nil || *back[i].Epoch != 12 || !strings.Contains(rows[i].Metadata, `"split":"val"`) {
					t.Fatalf("%+v", back[i])
				}
			}
			compare(t, sent, rows, name == "v2")
			if alone := items(t, "0012.parquet", data); *alone[0].Epoch != 12 || strings.Contains(alone[0].Row.Metadata, "split") {
				t.Errorf("a file in no folder of a split: %+v", alone[0])
			}
		}
	}
}

func file[T any](t *testing.T, rows []T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter[T](&b)
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSamplesAreAsARTReadsThem compares with what ART itself says of its files.
func TestSamplesAreAsARTReadsThem(t *testing.T) {
	data, err := os.ReadFile(samples + "expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		Files map[string]struct {
			Trajectories []struct {
				Logs     []string
				Reward   float64
				Messages []struct {
					Content, Role string
					Sampled       bool
					Tokens        int
					LogprobSum    float64           `json:"logprob_sum"`
					ToolCalls     []json.RawMessage `json:"tool_calls"`
				}
			}
		}
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for name, want := range expected.Files {
		data, err := os.ReadFile(samples + name)
		if err != nil {
			t.Fatal(err)
		}
		got := items(t, name, data)
		if len(got) != len(want.Trajectories) {
			t.Fatalf("%s: %d rows for %d", name, len(got), len(want.Trajectories))
		}
		for i, w := range want.Trajectories {
			row := &got[i].Row
			if *row.Reward != w.Reward || len(row.Messages) != len(w.Messages) {
				t.Errorf("%s: row %d: reward %v, %d messages", name, i, *row.Reward, len(row.Messages))
			}
			for k, m := range row.Messages {
				sum := 0.0
				for _, p := range m.Logprobs {
					sum += float64(p)
				}
				x := w.Messages[k]
				if m.Role != x.Role || m.Content != x.Content || m.Sampled != x.Sampled || len(m.TokenIDs) != x.Tokens ||
					len(m.ToolCalls) != len(x.ToolCalls) || fmt.Sprintf("%.3f", sum) != fmt.Sprintf("%.3f", x.LogprobSum) {
					t.Errorf("%s: row %d: message %d is %+v, not %+v", name, i, k, m, x)
				}
			}
		}
	}
}
