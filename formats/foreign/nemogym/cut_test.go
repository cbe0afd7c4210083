package nemogym

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// imported returns how many messages each rollout of lines has, by its id.
func imported(t *testing.T, lines ...string) (messages map[string]int, failed error) {
	t.Helper()
	data := strings.Join(lines, "\n")
	messages = map[string]int{}
	for p, err := range foreigntest.All(Importer, importers.File{Name: "f.jsonl", R: strings.NewReader(data), Size: int64(len(data))}) {
		if err != nil {
			return messages, err
		}
		if p.Err != nil {
			failed = p.Err
		}
		for _, x := range p.Items {
			if _, twice := messages[x.Row.TrajectoryID]; twice {
				t.Errorf("rollout %q is there twice", x.Row.TrajectoryID)
			}
			messages[x.Row.TrajectoryID] = len(x.Row.Messages)
		}
	}
	return messages, failed
}

func call(rollout, id, parent string, tokens ...string) string {
	if parent = fmt.Sprintf("%q", parent); parent == `""` {
		parent = "null"
	}
	return fmt.Sprintf(`{"schema_version":3,"rollout_id":%q,"model_call_id":%q,"parent_call_id":%s,"prompt_token_ids":[%s],"generation_token_ids":[9],`+
		`"generation_log_probs":[-1],"output_items":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}]}`,
		rollout, id, parent, strings.Join(tokens, ","))
}

// The rollout id joins calls, not their place in the file.
func TestInterleavedRolloutsAreJoinedById(t *testing.T) {
	a0, a1 := call("a", "a-0", "", "1"), call("a", "a-1", "a-0", "1", "9", "2")
	b0, b1 := call("b", "b-0", "", "1"), call("b", "b-1", "b-0", "1", "9", "3")
	for name, lines := range map[string][]string{
		"adjacent": {a0, a1, b0, b1}, "interleaved": {a0, b0, a1, b1}, "nested": {a0, b0, b1, a1},
		"a child first": {a1, b0, a0, b1},
		"a line twice":  {a0, b0, a0, a1, b1},
	} {
		got, err := imported(t, lines...)
		if err != nil || len(got) != 2 || got["a"] != 2 || got["b"] != 2 {
			t.Errorf("%s: %v messages, %v", name, got, err)
		}
	}
}

func TestCallsThatTheFileCannotJoinAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"no rollout": {[]string{strings.Replace(call("a", "a-0", ""), `"rollout_id":"a",`, "", 1)},
			"without a rollout_id"},
		"two rollouts": {[]string{call("a", "a-0", "", "1"), call("a", "a-0", "", "2")},
			`two calls of the rollout have the model_call_id "a-0"`},
		"a missing parent": {[]string{call("a", "a-1", "a-0", "1")}, `parent_call_id "a-0" is none of`},
		"a cycle":          {[]string{call("a", "a-0", "a-1", "1"), call("a", "a-1", "a-0", "1")}, "its own ancestor"},
	} {
		if got, err := imported(t, c.lines...); err == nil || !strings.Contains(err.Error(), c.want) || len(got) > 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A rollout is held until its last call, and only so long.
func TestHeldRolloutsAreBounded(t *testing.T) {
	data, err := os.ReadFile("testdata/tokens-by-schema_capture.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	defer func(n int) { maxHeld = n }(maxHeld)
	maxHeld = len(lines[0]) + len(lines[1]) + 2
	if got, err := imported(t, lines...); err != nil || len(got) != 4 {
		t.Errorf("sorted: %v, %v", got, err)
	}
	lines[1], lines[2] = lines[2], lines[1]
	if _, err := imported(t, lines...); err == nil || !strings.Contains(err.Error(), "still to come") {
		t.Errorf("interleaved: %v", err)
	}
}
