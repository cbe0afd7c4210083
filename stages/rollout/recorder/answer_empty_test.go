package recorder_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/sequences"
)

// turnOf is an engine's answer of some tokens, whole or as a stream.
func turnOf(stream bool, content, finish, prompt string, count int, ids ...string) string {
	entries := strings.TrimSuffix(strings.Repeat(`{"logprob":-1},`, len(ids)), ",")
	list := strings.Join(ids, ",")
	usage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d}`, strings.Count(prompt, ",")+1, count)
	if !stream {
		return fmt.Sprintf(`{"model":"policy","prompt_token_ids":%s,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"logprobs":{"content":[%s]},`+
			`"finish_reason":%q,"token_ids":[%s]}],%s}`, prompt, content, entries, finish, list, usage)
	}
	return fmt.Sprintf("data: {\"model\":\"policy\",\"prompt_token_ids\":%s,\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q},"+
		"\"logprobs\":{\"content\":[%s]},\"token_ids\":[%s]}]}\n\ndata: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q,\"token_ids\":[]}]}\n\n"+
		"data: {\"choices\":[],%s}\n\ndata: [DONE]\n\n", prompt, content, entries, list, finish, usage)
}

// TestAnAnswerOfNoTokens is a fact: the chain goes on behind it, every other token is
// exported once, and a file keeps it an empty list.
func TestAnAnswerOfNoTokens(t *testing.T) {
	for _, at := range []int{0, 1, 2} {
		for _, path := range []string{"/chat/completions", "/messages", "/responses"} {
			for _, stream := range []bool{false, true} {
				var bodies []string
				ids, counts, finishes := [][]string{{"10", "11"}, {"12"}, {"13", "14"}}, []int{2, 1, 2}, []string{"stop", "stop", "stop"}
				ids[at], counts[at], finishes[at] = nil, 0, "abort"
				prompt := "1"
				for k := range ids {
					bodies = append(bodies, turnOf(stream, strings.Join(ids[k], " "), finishes[k], "["+prompt+"]", counts[k], ids[k]...))
					if prompt = strings.Join(append([]string{prompt}, ids[k]...), ","); true {
						prompt += fmt.Sprint(",", 2+k)
					}
				}
				_, s := play(t, bodies...)
				history := []fields{user("hi")}
				for k := range bodies {
					if status, out := post(t, s.BaseURL()+path, fields{"model": "policy", "stream": stream, "messages": history, "input": history}); status != 200 {
						t.Fatalf("%s: %d %s", path, status, out)
					}
					history = append(history, assistant(strings.Join(ids[k], " ")), user("go on"))
				}
				rec := s.End()
				if rec.Untrainable != nil {
					t.Fatalf("%s, stream %v: %v", path, stream, rec.Untrainable)
				}
				checkRow(t, rec)
				empty := 0
				for i := range rec.Messages {
					m := &rec.Messages[i]
					if m.PrefixBreak != "" {
						t.Errorf("%s, stream %v: %s", path, stream, outline(*m))
					}
					if m.NoTokens() {
						empty++
					}
				}
				row := formats.Trajectory{TrajectoryID: "t", Messages: rec.Messages, Calls: rec.Calls}
				list, problem := sequences.Of(&row)
				if problem != nil || len(list) != 1 || int(sequences.Tokens(list)) != counts[0]+counts[1]+counts[2] || empty != 1 {
					t.Fatalf("%s, stream %v, answer %d: %v, %v, %d empty: %s", path, stream, at, list, problem, empty, strings.Join(outlines(rec), "\n"))
				}
				row.SetPayloadDigest()
				back := reread(t, row)
				if d := cmp.Diff(row.Messages, back.Messages); d != "" {
					t.Errorf("from a file: %s", d)
				}
				last := len(back.Messages) - 1
				if got := chat.PromptIDs(back.Messages, int(back.Messages[last].Parent), &back.Messages[last]); at < 2 && len(got) == 0 {
					t.Error("the last prompt's ids are lost")
				}
			}
		}
	}
}

func reread(t *testing.T, row formats.Trajectory) formats.Trajectory {
	t.Helper()
	var buf bytes.Buffer
	w := parquet.NewWriter[formats.Trajectory](&buf)
	if err := w.Write([]formats.Trajectory{row}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()), "a.parquet")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parquet.NewReader[formats.Trajectory](f, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := make([]formats.Trajectory, 1)
	if _, err := r.Read(out); err != nil && out[0].TrajectoryID == "" {
		t.Fatal(err)
	}
	return out[0]
}

// TestWhatIsNoAnswerOfNoTokens stays unknown, or is a fault: a list that nothing counted,
// a count without a list, and text without tokens.
func TestWhatIsNoAnswerOfNoTokens(t *testing.T) {
	for name, c := range map[string]struct {
		choice, usage, unfit string
	}{
		"no count":        {`"message":{"content":""},"token_ids":[],"logprobs":{"content":[]}`, `null`, ""},
		"no list":         {`"message":{"content":""},"logprobs":null`, `{"completion_tokens":0}`, ""},
		"null for a list": {`"message":{"content":""},"logprobs":null,"token_ids":null`, `{"completion_tokens":0}`, ""},
		"text":            {`"message":{"content":"a"},"logprobs":{"content":[]},"token_ids":[]`, `{"completion_tokens":0}`, outcomes.FailLogprobMismatch},
		"a call":          {`"message":{"content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"logprobs":{"content":[]}`, `{"completion_tokens":0}`, outcomes.FailLogprobMismatch},
		"one was counted": {`"message":{"content":""},"logprobs":{"content":[]},"token_ids":[]`, `{"completion_tokens":1}`, outcomes.FailLogprobMismatch},
	} {
		_, s := play(t, `{"model":"policy","prompt_token_ids":[1],"choices":[{"index":0,"finish_reason":"stop",`+c.choice+`}],"usage":`+c.usage+`}`)
		ask(t, s, fields{"model": "policy"}, user("hi"))
		rec := s.End()
		got := ""
		if rec.Untrainable != nil {
			got = rec.Untrainable.Class
		}
		if got != c.unfit || rec.Messages[1].TokenIDs != nil {
			t.Errorf("%s: %v, %s", name, rec.Untrainable, outline(rec.Messages[1]))
		}
	}
}

// TestOneOfSeveralChoicesHasNoTokens where the sum of the others is the engine's count.
func TestOneOfSeveralChoicesHasNoTokens(t *testing.T) {
	_, s := play(t, `{"model":"policy","prompt_token_ids":[1],"choices":[{"index":0,"finish_reason":"stop","message":{"content":"a"},"token_ids":[5],"logprobs":{"content":[{"logprob":-1}]}},`+
		`{"index":1,"finish_reason":"abort","message":{"content":""},"token_ids":[],"logprobs":null}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	ask(t, s, fields{"model": "policy", "n": 2}, user("hi"))
	rec := s.End()
	if rec.Untrainable != nil || rec.Messages[1].NoTokens() || !rec.Messages[2].NoTokens() {
		t.Errorf("%v %v", rec.Untrainable, outlines(rec))
	}
}
