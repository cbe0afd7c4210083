package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// generator makes files of random shapes with a member hidden in them.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

// word returns letters that are no word, nor make one with what follows.
func (g generator) word() string {
	b := make([]byte, 2+g.IntN(5))
	for i := range b {
		b[i] = "bcdfgjkmopqruvwxyz"[g.IntN(18)]
	}
	return string(b)
}

// name joins a stem with words, as programs do.
func (g generator) name(stem string) string {
	words := []string{stem}
	for range g.IntN(3) {
		if w := pick(g, g.word(), "is", "has", "my", "use"); g.IntN(2) == 0 {
			words = append(words, g.word())
		} else {
			words = slices.Insert(words, 0, w)
		}
	}
	if g.IntN(3) > 0 {
		return strings.Join(words, pick(g, "_", "-", ".", " "))
	}
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	return strings.Join(words, "")
}

type object = map[string]any

// within hides a member in another one, or not.
func (g generator) within(o object, name string, v any) {
	if g.IntN(3) > 0 {
		o[name] = v
		return
	}
	o[pick(g, "meta", "extra", "info", g.word())] = pick[any](g, object{name: v}, []any{object{name: v}}, object{"a": object{name: v}})
}

// Texts that show what became of the rows.
const bad, hidden = "BADANSWER", "HIDDENTEXT"

// conversation returns messages, of which the last is an answer, with the keys of a format.
func (g generator) conversation(role, content, user, assistant string) (list []object) {
	for range 1 + g.IntN(3) {
		list = append(list, object{role: user, content: "Q" + g.word()}, object{role: assistant, content: bad + " " + g.word()})
	}
	if g.IntN(2) == 0 {
		for _, m := range list { // honest
			m[pick(g, "id", "created", "timestamp", "uuid", g.word())] = pick[any](g, 5, "x", nil)
		}
	}
	return list
}

// file returns a file of one record, the importer and the columns for it. kind is what is
// hidden in it, "" for nothing.
func (g generator) file(kind string) (format, name string, data []byte, columns map[string]string) {
	shape := pick(g, "chat", "text", "document", "completion", "preference", "sharegpt", "alpaca", "rows", "art", "verifiers", "atif", "nemo-gym", "nat", "sts", "otel")
	role, content, user, assistant := "role", "content", "user", "assistant"
	if shape == "sharegpt" {
		role, content, user, assistant = "from", "value", "human", "gpt"
	}
	list := g.conversation(role, content, user, assistant)
	if shape == "sts" { // whose ids are texts that do not repeat
		for _, m := range list {
			delete(m, "id")
		}
	}
	if shape == "completion" || shape == "preference" || shape == "verifiers" || shape == "art" || shape == "otel" {
		list = list[len(list)-2:] // earlier answers would not be sampled
	}
	row := object{"source": "s", "usage": object{"prompt_tokens": 3, "completion_tokens": 5}}
	if g.IntN(2) == 0 {
		for _, honest := range []string{"constraints", "quality", "split", "lang", "tags", "gloss", "captions", "score_text"} {
			row[honest] = pick[any](g, "some", []string{"a"}, object{"a": "b"}, 7)
		}
	}
	m := list[len(list)-1]
	if shape == "alpaca" {
		m = row
	}
	switch kind {
	case "mask":
		v := pick[any](g, false, 0, 0.0, 0.5, "false", "0", "no", []int{0, 1}, object{"a": 0}, -1)
		stem := pick(g, "mask", "train", "weight", "loss", "learn")
		if g.IntN(4) == 0 {
			stem, v = pick(g, "skip", "demo", "no_train", "without_loss"), pick[any](g, true, 1, "yes", "true")
		}
		name := g.name(stem)
		for name == "loss" || name == "weight" || name == "train" {
			name = g.name(stem)
		}
		if shape == "alpaca" || g.IntN(4) == 0 && len(list) != 1 { // one for each message
			name, n := g.name("mask"), len(list)
			if shape == "alpaca" {
				n = 1
			}
			row[name] = slices.Repeat([]int{0}, n)
			break
		}
		g.within(m, name, v)
	case "call":
		call := object{"name": hidden, "arguments": object{"a": hidden}}
		if shape == "alpaca" {
			shape, m = "chat", list[len(list)-1]
		}
		switch name := g.name(pick(g, "calls", "tool_call", "function_call", "tool_use")); g.IntN(3) {
		case 0:
			m[content], m["tool_calls"] = "", []any{object{"id": "c", "function": object{"name": bad, g.word(): call["arguments"]}}}
		case 1:
			m[content] = ""
			list[len(list)-2][content] = bad
			fallthrough
		default:
			m[name] = pick[any](g, []any{call}, call, []any{object{"function": call}})
		}
	case "image":
		name := g.name(pick(g, "image", "images", "video", "audio", "picture"))
		v := pick[any](g, []string{"a.jpg"}, []any{object{"bytes": "AAAA", "path": nil}}, "a/b.png", "data:image/png;base64,AAAA", object{"url": "http://x/y"})
		pick(g, row, m)[name] = v
	case "history":
		name := g.name(pick(g, "history", "previous", "dialog", "conversation_before", "turns"))
		row[name] = pick[any](g, [][]string{{hidden, "A0"}}, []object{{"role": "user", "content": hidden}, {"role": "assistant", "content": "A0"}},
			[]object{{"from": "human", "value": hidden}}, []object{{"user": hidden, "assistant": "A0"}}, object{"turns": []object{{"text": hidden}}})
	case "reasoning":
		if shape == "alpaca" {
			shape, m = "chat", list[len(list)-1]
		}
		m[g.name(pick(g, "reasoning", "thinking", "thought", "rationale"))] = pick[any](g, hidden, []object{{"type": "text", "text": hidden}}, object{"content": hidden})
	}
	last := len(list) - 1
	switch shape {
	case "chat", "rows":
		row["messages"] = list
	case "text":
		text, _ := json.Marshal(list)
		row["messages"] = string(text)
	case "document":
		row["run"], columns = object{"list": list}, map[string]string{"messages": "run.list"}
	case "completion":
		row["prompt"], row["completion"] = list[:last], list[last:]
	case "preference":
		row["prompt"], row["chosen"], row["rejected"] = list[:last], list[last:], []object{{"role": "assistant", "content": "other"}}
	case "sharegpt":
		row["conversations"] = list
	case "alpaca":
		row["instruction"], row["output"] = "Q", bad
	case "art":
		trajectory := object{"reward": 1, "metrics": object{}, "metadata": object{}}
		choices := []any{}
		for _, x := range list[:last] {
			choices = append(choices, x)
		}
		trajectory["messages_and_choices"] = append(choices, object{"index": 0, "finish_reason": "stop", "message": list[last]})
		for k, v := range row {
			trajectory[k] = v
		}
		row = object{"trajectories": []any{trajectory}}
	case "atif":
		var steps []object
		for i, m := range list {
			step := object{"step_id": i + 1, "source": map[any]string{"user": "user"}[m["role"]], "message": m["content"]}
			if step["source"] == "" {
				step["source"] = "agent"
			}
			for k, v := range m {
				if k != "role" && k != "content" && k != "timestamp" {
					step[k] = v
				}
			}
			steps = append(steps, step)
		}
		row["schema_version"], row["session_id"], row["agent"], row["steps"] = "ATIF-v1.7", "s", object{"name": "a", "version": "1"}, steps
	case "nemo-gym":
		for _, m := range list[1:] {
			if m["role"] == "assistant" {
				m["type"], m["content"] = "message", []object{{"type": "output_text", "text": m["content"], "annotations": []any{}}}
			}
		}
		row["responses_create_params"], row["response"], row["reward"] = object{"input": list[:1]}, object{"output": list[1:]}, 1
	case "nat":
		for _, m := range list {
			if m["role"] == assistant {
				m["logprobs"] = []any{-0.5}
			}
		}
		row["episode"], row["reward"] = list, 1
	case "sts":
		var parent any
		for i, m := range list {
			event := object{"type": m["role"], "uuid": fmt.Sprint("u", i), "parentUuid": parent, "sessionId": "s", "message": m}
			if parent = event["uuid"]; i == len(list)-1 {
				for k, v := range row {
					if event[k] == nil {
						event[k] = v
					}
				}
			}
			if m["role"] == assistant {
				m["model"] = "m"
			}
			line, _ := json.Marshal(event)
			data = append(append(data, line...), '\n')
		}
		return "sts", "x.jsonl", data, nil
	case "otel":
		part := func(m object) (out []object) {
			p := object{}
			for k, v := range m {
				p[k] = v
			}
			p["parts"] = []object{{"type": "text", "content": m["content"]}}
			delete(p, "content")
			return []object{p}
		}
		attributes := []any{}
		row["gen_ai.operation.name"], row["gen_ai.request.model"], row["gen_ai.input.messages"], row["gen_ai.output.messages"] = "chat", "m", part(list[0]), part(list[1])
		for k, v := range row {
			text, is := v.(string)
			if !is {
				b, _ := json.Marshal(v)
				text = string(b)
			}
			attributes = append(attributes, object{"key": k, "value": object{"stringValue": text}})
		}
		row = object{"resourceSpans": []any{object{"scopeSpans": []any{object{"spans": []any{object{"traceId": "00000000000000000000000000000001", "spanId": "0000000000000001",
			"name": "chat m", "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": attributes}}}}}}}
	case "verifiers":
		row["example_id"], row["prompt"], row["completion"], row["reward"] = 1, list[:last], list[last:], 1
	}
	format = map[string]string{"sharegpt": "sharegpt", "rows": "rows", "art": "art", "verifiers": "verifiers", "atif": "atif", "nemo-gym": "nemo-gym", "nat": "nat", "otel": "otel"}[shape]
	data, _ = json.Marshal(row)
	name = "x.jsonl"
	if shape == "document" {
		name = "x.json"
	}
	return cmp.Or(format, "chat"), name, data, columns
}

// outcome returns what trl-sft writes of a file, and why it leaves rows out; refused is
// the reader's error.
func outcome(t testing.TB, format, name string, data []byte, columns map[string]string) (text, skipped string, refused error) {
	f := &Importers[slices.IndexFunc(Importers, func(f importers.Format) bool { return f.Name == format })]
	var rows []formats.Trajectory
	for p, err := range foreigntest.All(*f, importers.File{Name: name, R: bytes.NewReader(data), Size: int64(len(data)), Options: &importers.Options{Map: columns}}) {
		if err = cmp.Or(err, p.Err); err != nil {
			return "", "", err
		}
		if len(p.Losses) > 0 {
			return "", "", fmt.Errorf("%v", p.Losses)
		}
		for i := range p.Items {
			if p.Items[i].Pair != importers.Rejected {
				rows = append(rows, p.Items[i].Row)
				rows[len(rows)-1].TrajectoryID = fmt.Sprint(len(rows))
			}
		}
	}
	text, skipped = exported(t, "trl-sft", rows)
	return text, skipped, nil
}

// TestNothingHiddenTrains hides a member in COUNT files (200 unless it is set): the answer
// that it is about does not train, unless what was hidden is in the file that trains.
// Files in which nothing is hidden train.
func TestNothingHiddenTrains(t *testing.T) {
	count, err := strconv.Atoi(cmp.Or(os.Getenv("COUNT"), "200"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{"mask", "call", "image", "history", "reasoning", ""}
	unseen, of, blocked := map[string]int{}, map[string]int{}, 0
	for i := range count {
		g := generator{rand.New(rand.NewPCG(1, uint64(i)))}
		kind := kinds[i%len(kinds)]
		format, name, data, columns := g.file(kind)
		text, skipped, refused := outcome(t, format, name, data, columns)
		of[kind]++
		switch trained := strings.Contains(text, bad); {
		case kind == "" && !trained:
			if blocked++; blocked <= 5 {
				t.Errorf("file %d, %s: an honest row does not train: %s %v\n%s", i, format, skipped, refused, data)
			}
		case kind != "" && trained && !strings.Contains(text, hidden):
			if unseen[kind+" "+format]++; unseen[kind+" "+format] <= 2 {
				t.Errorf("file %d, %s: what is hidden (%s) is not seen:\n%s", i, format, kind, data)
			}
		}
	}
	t.Logf("%d files; hidden and unseen: %v of %v; honest and blocked: %d of %d", count, unseen, of, blocked, of[""])
}
