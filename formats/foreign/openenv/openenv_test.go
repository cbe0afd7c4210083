package openenv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
)

const made = "../../../testdata/importers/openenv/"

// files were written by OpenEnv.
var files = []string{made + "capture.json", made + "capture-discarded.json", made + "capture-eval.json", made + "trace-entries.json", made + "harbor-result.json",
	made + "harbor-failed.json", made + "results.jsonl"}

func TestRun(t *testing.T) { foreigntest.Importer(t, Importer, importers.Options{}, files...) }

func FuzzDocument(f *testing.F) {
	foreigntest.Fuzz(f, Importer, importers.Options{}, "f.json", foreigntest.Seeds(f, 20000, files...)...)
}

type object = map[string]any

// at returns what is at a path of names and indexes.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(object)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

// changed returns the rows of a file of OpenEnv's in which something is changed.
func changed(t *testing.T, name string, change func(o object)) ([]formats.Trajectory, error) {
	t.Helper()
	data, err := os.ReadFile(made + name)
	if err != nil {
		t.Fatal(err)
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	change(o)
	if data, err = json.Marshal(o); err != nil {
		t.Fatal(err)
	}
	var rows []formats.Trajectory
	for p, err := range foreigntest.All(Importer, importers.File{Name: name, R: bytes.NewReader(data), Size: int64(len(data)), Options: &importers.Options{}}) {
		if err = cmp.Or(err, p.Err); err != nil {
			return nil, err
		}
		for i := range p.Items {
			rows = append(rows, p.Items[i].Row)
		}
	}
	return rows, nil
}

// TestContradictionsAreRefused with their place.
func TestContradictionsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file, want string
		change     func(o object)
	}{
		"no messages": {"capture.json", "turns[1]: it has no messages: export the session with include_messages",
			func(o object) { delete(at(o, "turns", 1).(object), "request_messages") }},
		"a turn is gone": {"capture.json", "stats.n_turns is 5, but there are 4 turns",
			func(o object) { o["turns"] = o["turns"].([]any)[:4] }},
		"a turn twice": {"capture.json", "that of an earlier turn",
			func(o object) { o["turns"].([]any)[1] = at(o, "turns", 0) }},
		"an unknown role": {"capture.json", `sequences[0]: role "critic" is not known; known are agent, auxiliary, discarded`,
			func(o object) { at(o, "sequences", 0).(object)["role"] = "critic" }},
		"an auxiliary sequence that trains": {"capture.json", "sequences[1]: it is trainable, but its role is auxiliary",
			func(o object) { at(o, "sequences", 1).(object)["trainable"] = true }},
		"a short mask": {"capture.json", "sequences[1]: 14 input_ids, but 13 values of loss_mask and 14 logprobs",
			func(o object) {
				at(o, "sequences", 1).(object)["loss_mask"] = at(o, "sequences", 1, "loss_mask").([]any)[1:]
			}},
		"long logprobs": {"capture.json", "14 values of loss_mask and 15 logprobs", func(o object) {
			at(o, "sequences", 1).(object)["logprobs"] = append(at(o, "sequences", 1, "logprobs").([]any), -1)
		}},
		"an unknown turn": {"capture.json", `is no turn of the document`,
			func(o object) { at(o, "sequences", 0, "node_ids").([]any)[1] = "x" }},
		"turns in another order": {"capture.json", "sequences[0]: node_ids[1]: loss_mask[21] is 1, where no turn sampled a token", func(o object) {
			ids := at(o, "sequences", 0, "node_ids").([]any)
			ids[1], ids[2] = ids[2], ids[1]
		}},
		"a longer prompt": {"capture.json", "sequences[1]: node_ids[0]: the answer of",
			func(o object) { at(o, "turns", 4).(object)["n_prompt"] = 8 }},
		"a mask of a prompt": {"capture.json", "sequences[0]: node_ids[0]: loss_mask[2] is 1, where no turn sampled a token",
			func(o object) { at(o, "sequences", 0, "loss_mask").([]any)[2] = 1 }},
		"a mask after the last answer": {"capture.json", "sequences[0]: loss_mask[43] is 1, where no turn sampled a token", func(o object) {
			at(o, "turns", 3).(object)["n_sampled"], at(o, "turns", 3).(object)["sampled_logprobs"] = 11, at(o, "turns", 3, "sampled_logprobs").([]any)[1:]
		}},
		"a fraction in a mask": {"capture.json", "loss_mask[7] is",
			func(o object) { at(o, "sequences", 0, "loss_mask").([]any)[7] = 0.5 }},
		"a 2 in a mask": {"capture.json", "turns[0]: value 0 of the answer's loss_mask is 2, neither 0 nor 1",
			func(o object) { at(o, "sequences", 0, "loss_mask").([]any)[7] = 2 }},
		"training without logprobs": {"capture.json", "turns[0]: loss_mask is 1 for 12 of 12 sampled tokens, of which there are 0 logprobs",
			func(o object) { at(o, "turns", 0).(object)["sampled_logprobs"] = nil }},
		"fewer logprobs": {"capture.json", "turns[0]: loss_mask is 1 for 12 of 12 sampled tokens, of which there are 11 logprobs",
			func(o object) {
				at(o, "turns", 0).(object)["sampled_logprobs"] = at(o, "turns", 0, "sampled_logprobs").([]any)[1:]
			}},
		"a turn of no sequence": {"capture.json", "turns[1]: no sequence has it, though it is not discarded",
			func(o object) { at(o, "turns", 1).(object)["discarded"] = false }},
		"two tellings of a turn": {"capture-discarded.json", "has other tokens or another mask in an earlier sequence",
			func(o object) { at(o, "sequences", 1, "input_ids").([]any)[0] = 5 }},
		"an entry of two choices": {"trace-entries.json", "entries[0]: it has 2 choices, not one", func(o object) {
			r := at(o, "entries", 0, "response").(object)
			r["choices"] = append(r["choices"].([]any), at(r, "choices", 0))
		}},
		"an entry's mask": {"trace-entries.json", "entries[1]: 21 prompt_token_ids and 5 completion_token_ids, but loss_mask has 25 values",
			func(o object) {
				at(o, "entries", 1).(object)["loss_mask"] = at(o, "entries", 1, "loss_mask").([]any)[1:]
			}},
		"an entry's prompt trains": {"trace-entries.json", "entries[1]: loss_mask[3] is 1, where no turn sampled a token",
			func(o object) { at(o, "entries", 1, "loss_mask").([]any)[3] = 1 }},
		"a reward of another value": {"harbor-result.json", "reward is 0.5, but rewards.reward, which reward_key names, is 0.75",
			func(o object) { at(o, "rewards").(object)["reward"] = 0.75 }},
		"a turn of an unknown role": {"harbor-result.json", `turns[0]: role "judge" is not known`,
			func(o object) { at(o, "turns", 0).(object)["role"] = "judge" }},
		"another document": {"capture.json", "it has neither turns with sequences or conversations, nor entries, nor an episode_id with messages",
			func(o object) { delete(o, "turns") }},
	} {
		if _, err := changed(t, c.file, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// trained returns the contents and calls of the answers that train, and what is aside.
func trained(row *formats.Trajectory) string {
	var out []string
	for i, m := range row.Messages {
		if row.Trained(i) {
			out = append(out, cmp.Or(m.Content, fmt.Sprint(len(m.ToolCalls), " call")))
		}
	}
	return strings.Join(out, ", ")
}

// TestWhatTrains: the recorder's roles, masks and findings decide it, and none is guessed.
func TestWhatTrains(t *testing.T) {
	const all = "1 call, The tool says 42., 1 call"
	zero := func(list any, from, to int) {
		for i := from; i < to; i++ {
			list.([]any)[i] = 0
		}
	}
	for name, c := range map[string]struct {
		file, want, meta string
		change           func(o object)
	}{
		"as it is":            {"capture.json", all, `"capture_level":"tokens"`, func(object) {}},
		"a fatal finding":     {"capture.json", "", "", func(o object) { o["trainable"] = false }},
		"no word of training": {"capture.json", "", "", func(o object) { delete(o, "trainable") }},
		"a sequence with a finding": {"capture.json", "", "", func(o object) {
			at(o, "sequences", 0).(object)["trainable"] = false
		}},
		"an answer whose logprobs were refused": {"capture.json", "1 call, 1 call", "", func(o object) {
			zero(at(o, "sequences", 0, "loss_mask"), 21, 26)
			at(o, "turns", 2).(object)["sampled_logprobs"] = nil
		}},
		"a part of an answer": {"capture.json", all, `"loss_mask":[0,0,1,1,1]`, func(o object) {
			zero(at(o, "sequences", 0, "loss_mask"), 21, 23)
		}},
		"an eval":                     {"capture-eval.json", "", `"rollout_type":"eval"`, func(object) {}},
		"entries":                     {"trace-entries.json", all, "", func(object) {}},
		"a result":                    {"harbor-result.json", all, "", func(object) {}},
		"a result of an eval":         {"harbor-result.json", "", "", func(o object) { o["rollout_type"] = "eval" }},
		"a result of no type":         {"harbor-result.json", "", "", func(o object) { delete(o, "rollout_type") }},
		"a result with a finding":     {"harbor-result.json", "", "", func(o object) { o["findings"] = []any{"[FATAL] capture_ingest_failed: x"} }},
		"a result of an old version":  {"harbor-result.json", all, "", func(o object) { delete(at(o, "turns", 1).(object), "loss_mask") }},
		"a turn that does not train":  {"harbor-result.json", "1 call, 1 call", "", func(o object) { at(o, "turns", 1).(object)["trainable"] = false }},
		"a turn that was not carried": {"harbor-result.json", "1 call, 1 call", "", func(o object) { at(o, "turns", 1).(object)["discarded"] = true }},
	} {
		rows, err := changed(t, c.file, c.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		blocked := map[bool]string{true: "loss_mask"}[name == "a part of an answer"]
		if got, by := trained(&rows[0]), (validate.Accepted{}).Unread(&rows[0]); got != c.want || by != blocked || !strings.Contains(rows[0].Metadata, c.meta) {
			t.Errorf("%s: trains %q, want %q; blocked by %q; %s", name, got, c.want, by, rows[0].Metadata)
		}
	}
}

// TestOutcomes of results and sessions.
func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		file, want string
		change     func(o object)
	}{
		"a result":           {"harbor-result.json", "ok done  0.5 reward 1 style 0", func(object) {}},
		"no verifier":        {"harbor-result.json", "ok done  none", func(o object) { o["reward"], o["rewards"] = nil, object{} }},
		"a timeout":          {"harbor-failed.json", "failed error timeout none", func(object) {}},
		"another failure":    {"harbor-failed.json", "failed error internal none", func(o object) { o["exception_type"] = "EnvironmentStartError" }},
		"failed with reward": {"harbor-result.json", "failed error internal none reward 1 style 0", func(o object) { o["ok"] = false }},
		"calls used up":      {"capture.json", "truncated max_calls  none", func(o object) { o["budget_stop_count"] = 1 }},
		"nothing captured": {"capture.json", "failed error no_calls none", func(o object) {
			o["turns"], o["sequences"], o["stats"] = []any{}, []any{}, object{}
		}},
	} {
		rows, err := changed(t, c.file, c.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		row := &rows[0]
		got := fmt.Sprint(row.Status, " ", row.StopReason, " ", row.FailureClass, " ")
		if row.Reward == nil {
			got += "none"
		} else {
			got += fmt.Sprint(*row.Reward)
		}
		for _, r := range row.Rewards {
			got += fmt.Sprint(" ", r.Name, " ", r.Weight)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestEpisodes: the last answers are those that were sampled.
func TestEpisodes(t *testing.T) {
	const line = `{"episode_id":"e","messages":[{"role":"user","content":"Q"},{"role":"assistant","content":"A"},{"role":"user","content":"R"},{"role":"assistant","content":"B"}],` +
		`"reward":1,"done":true,"tool_trace":[],"metrics":{"turns":2},"task":{"id":3}}`
	for name, c := range map[string]struct{ from, to, want string }{
		"all sampled":       {"", "", "A, B ok"},
		"one was given":     {`"turns":2`, `"turns":1`, "B ok"},
		"nobody counted":    {`"turns":2`, `"n":1`, "A, B ok"},
		"more than it has":  {`"turns":2`, `"turns":3`, "metrics.turns is 3, which are 1 more than the messages have answers"},
		"not done":          {`"done":true`, `"done":false`, "A, B truncated"},
		"nothing says done": {`"done":true,`, ``, "A, B truncated"},
		"no answer":         {`{"turns":2}`, `{"turns":0}`, " failed"},
	} {
		got := ""
		data := strings.Replace(line, c.from, c.to, 1)
		for p, err := range foreigntest.All(Importer, importers.File{Name: "x.jsonl", R: strings.NewReader(data), Size: int64(len(data)), Options: &importers.Options{},
			Companions: []importers.Companion{{Name: "metadata.json", Read: func() ([]byte, error) { return []byte(`{"model":"m"}`), nil }}}}) {
			if err = cmp.Or(err, p.Err); err != nil {
				got = err.Error()
				break
			}
			row := &p.Items[0].Row
			if got = trained(row) + " " + row.Status; !strings.Contains(row.Metadata, `"run_metadata":{"model":"m"}`) || row.Example != `{"task":{"id":3}}` {
				t.Errorf("%s: %s %s", name, row.Metadata, row.Example)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSingleEntries: each of a list is a call with its id.
func TestSingleEntries(t *testing.T) {
	rows, err := changed(t, "trace-entries.json", func(o object) {
		for k, v := range at(o, "entries", 1).(object) {
			o[k] = v
		}
		delete(o, "entries")
	})
	if err != nil || len(rows) != 1 || rows[0].TrajectoryID != "90900b77ce42" || trained(&rows[0]) != "The tool says 42." || len(rows[0].Messages) != 4 {
		t.Errorf("%v %+v", err, rows)
	}
}

// TestAnswersOfResults: reasoning comes from conversations, and ids that are missing are not known to be none.
func TestAnswersOfResults(t *testing.T) {
	for name, c := range map[string]struct {
		message, field int
		want           string
	}{
		"reasoning":     {5, 0, "6 messages before the title, thought, true, true"},
		"no prompt ids": {3, 1, "6 messages before the title, , true, false"},
		"no answer ids": {3, 2, "6 messages before the title, , false, true"},
	} {
		rows, err := changed(t, "harbor-result.json", func(o object) {
			if c.field == 0 {
				at(o, "conversations", 0, "messages", 5).(object)["reasoning_content"] = "thought"
				return
			}
			turn := at(o, "turns", 1).(object)
			turn["loss_mask"] = nil
			if c.field == 1 {
				turn["prompt_token_ids"] = nil
			} else {
				turn["completion_token_ids"], turn["per_token_logps"] = nil, nil
			}
		})
		if err != nil {
			t.Fatal(name, err)
		}
		m := rows[0].Messages[c.message]
		before := slices.IndexFunc(rows[0].Messages, func(m formats.Message) bool { return strings.HasPrefix(m.Content, "A title") })
		if got := fmt.Sprintf("%d messages before the title, %s, %t, %t", before, m.Reasoning, m.TokenIDs != nil, m.PromptDeltaIDs != nil); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
