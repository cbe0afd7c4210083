package calls_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
)

// request is a call of a test: an id, when it began, its prompt and its answer, "!" for none. In texts a
// message of the assistant begins with "a:", and one of the system with "s:".
type request struct {
	by, id   string
	at, took int64
	prompt   string // messages with "|" between them
	answer   string // choices
	edit     func(*importers.Item)
}

func (r request) item() importers.Item {
	x := importers.Item{}
	t := &x.Row
	t.TrajectoryID, t.StartedAt = r.id, r.at
	if r.at > 0 {
		t.FinishedAt = r.at + max(r.took, 1)
	}
	for text := range strings.SplitSeq(r.prompt, "|") {
		m := formats.Message{Role: "user", Content: text, Call: -1, Parent: int32(len(t.Messages)) - 1}
		for _, role := range []string{"assistant", "system", "tool"} {
			if rest, is := strings.CutPrefix(text, role[:1]+":"); is {
				m.Role, m.Content = role, rest
			}
		}
		t.Messages = append(t.Messages, m)
	}
	t.Calls = []formats.Call{{Model: "m", Sampling: "{}", Tools: -1, Target: true}}
	if r.answer == "!" {
		t.Calls[0].Error = "lost"
		importers.Fail(t, "engine", "lost")
	} else {
		parent := int32(len(t.Messages)) - 1
		for k, text := range strings.Split(r.answer, "|") {
			m := formats.Message{Role: "assistant", Content: text, Sampled: true, Parent: parent, FinishReason: "stop"}
			if k > 0 {
				m.Branch = "choice"
			}
			t.Messages = append(t.Messages, m)
		}
	}
	if r.edit != nil {
		r.edit(&x)
	}
	return x
}

// shape is a conversation in one line.
func shape(c *calls.Conversation, item *importers.Item, differ []string) string {
	var out []string
	for _, m := range item.Row.Messages {
		text := m.Content
		if m.Sampled {
			text = "*" + text
		}
		out = append(out, strings.TrimRight(fmt.Sprintf("%s<%d %s", text, m.Parent, m.Branch), " "))
	}
	for _, x := range item.Row.Candidates {
		out = append(out, fmt.Sprintf("%s of %d %s", x.Content, x.Message, x.Reason))
	}
	line := strings.Join(out, ", ")
	if c.Gap {
		line = "gap: " + line
	}
	if c.Resampled {
		line = "resampled: " + line
	}
	if item.Row.FailureClass != "" {
		line = item.Row.FailureClass + ": " + line
	}
	if len(differ) > 0 {
		line += "; differ: " + strings.Join(differ, ", ")
	}
	return line
}

// join joins calls in an order, with so much memory, and returns the shapes and the rows.
func join(t *testing.T, o calls.Options, all []request) (shapes []string, items []importers.Item, counts calls.Counts) {
	t.Helper()
	o.Dir = t.TempDir()
	j := calls.NewJoiner(o)
	defer j.Close()
	for i, r := range all {
		c, err := calls.New(r.item(), r.by, validate.Source{File: "x.jsonl", Record: int64(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	for c, err := range j.Conversations(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		item, differ, err := c.Item()
		if err != nil {
			t.Fatal(err)
		}
		shapes, items = append(shapes, shape(c, &item, differ)), append(items, item)
	}
	return shapes, items, j.Counts()
}

// TestRules: what becomes of a few calls, in whatever order they come.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		byTime bool
		calls  []request
		want   []string
		tries  int64
		counts string // copies, ambiguous, gaps
	}{
		"a conversation": {calls: []request{
			{at: 10, prompt: "hi", answer: "x"}, {at: 20, prompt: "hi|a:x|more", answer: "y"}, {at: 30, prompt: "hi|a:x|more|a:y|on", answer: "z"}},
			want: []string{"hi<-1, *x<0, more<1, *y<2, on<3, *z<4"}},
		"without times": {calls: []request{{prompt: "hi", answer: "x"}, {prompt: "hi|a:x|more", answer: "y"}},
			want: []string{"hi<-1, *x<0, more<1, *y<2"}},
		"a clock that is late": {calls: []request{{at: 20, prompt: "hi", answer: "x"}, {at: 10, prompt: "hi|a:x|more", answer: "y"}},
			want: []string{"hi<-1, *x<0, more<1, *y<2"}},
		"two samples": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 2, prompt: "hi", answer: "y"}, {at: 9, prompt: "hi|a:y|more", answer: "z"}},
			want: []string{"hi<-1, *x<0", "hi<-1, *y<0, more<1, *z<2"}},
		"equal answers that nobody continues": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 2, prompt: "hi", answer: "x"}},
			want: []string{"hi<-1, *x<0", "hi<-1, *x<0"}},
		"equal answers, one continued": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 3, prompt: "hi", answer: "x"},
			{at: 9, prompt: "hi|a:x|more", answer: "y"}, {at: 12, prompt: "hi|a:x|more|a:y|on", answer: "z"}},
			want: []string{"ambiguous_merge: hi<-1, *x<0", "ambiguous_merge: hi<-1, *x<0", "hi<-1, x<0, more<1, *y<2, on<3, *z<4"}, counts: "0 2 0"},
		"equal answers, by time": {byTime: true, calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 3, prompt: "hi", answer: "x"},
			{at: 9, prompt: "hi|a:x|more", answer: "y"}, {at: 12, prompt: "hi|a:x|on", answer: "z"}},
			want: []string{"hi<-1, *x<0, on<1, *z<2", "hi<-1, *x<0, more<1, *y<2"}},
		"equal twice": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 3, prompt: "hi", answer: "x"},
			{at: 9, prompt: "hi|a:x|more", answer: "y"}, {at: 12, prompt: "hi|a:x|more", answer: "y"}, {at: 20, prompt: "hi|a:x|more|a:y|on", answer: "z"}},
			want: []string{"ambiguous_merge: hi<-1, *x<0", "ambiguous_merge: hi<-1, *x<0", "ambiguous_merge: hi<-1, x<0, more<1, *y<2",
				"ambiguous_merge: hi<-1, x<0, more<1, *y<2", "hi<-1, x<0, more<1, y<2, on<3, *z<4"}, counts: "0 4 0"},
		"a retry in a conversation": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 9, prompt: "hi|a:x|more", answer: "y"},
			{at: 12, prompt: "hi|a:x|more", answer: "y"}, {at: 20, prompt: "hi|a:x|more|a:y|on", answer: "z"}},
			want: []string{"hi<-1, *x<0, more<1, *y<2, on<3, *z<4, y of 3 retried"}},
		"choices": {calls: []request{{at: 1, prompt: "hi", answer: "x|y"}, {at: 9, prompt: "hi|a:y|more", answer: "z"}},
			want: []string{"hi<-1, *y<0, more<1, *z<2, x of 1 alternative"}},
		"a failed call alone": {calls: []request{{at: 1, prompt: "hi", answer: "!"}, {at: 9, prompt: "hi", answer: "x"}},
			want: []string{"engine: hi<-1", "hi<-1, *x<0"}},
		"a failed call within": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 9, prompt: "hi|a:x|on", answer: "!"}, {at: 19, prompt: "hi|a:x|on", answer: "y"}},
			want: []string{"hi<-1, *x<0, on<1, *y<2"}},
		"the last call failed": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 9, prompt: "hi|a:x|on", answer: "!"}},
			want: []string{"engine: hi<-1, *x<0, on<1"}},
		"a gap": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 9, prompt: "hi|a:x|1|a:lost|2", answer: "y"}, {at: 12, prompt: "hi|a:x|1|a:lost|2|a:y|3", answer: "z"}},
			want: []string{"hi<-1, *x<0", "gap: hi<-1, x<0, 1<1, lost<2, 2<3, *y<4, 3<5, *z<6"}, counts: "0 0 1"},
		"a gap, and another attempt that said the same": {calls: []request{{at: 1, prompt: "q", answer: "a1"}, {at: 9, prompt: "q|a:a1|more|a:a2|end", answer: "a3"},
			{at: 2, prompt: "q", answer: "b1"}, {at: 5, prompt: "q|a:b1|more", answer: "a2"}},
			want: []string{"q<-1, *a1<0", "gap: q<-1, a1<0, more<1, a2<2, end<3, *a3<4", "q<-1, *b1<0, more<1, *a2<2"}, counts: "0 0 1"},
		"an edit before an answer": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 5, prompt: "hi|a:x|1", answer: "y"}, {at: 9, prompt: "hi|a:x|one|a:y|2", answer: "z"},
			{at: 2, prompt: "hi", answer: "v"}, {at: 3, prompt: "hi|a:v|1", answer: "y"}},
			want: []string{"hi<-1, *x<0, 1<1, *y<2, one<1 history, y<4, 2<5, *z<6", "hi<-1, *v<0, 1<1, *y<2"}},
		"an edit": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 5, prompt: "hi|a:x|1", answer: "y"}, {at: 9, prompt: "hi|a:x|1|a:better|2", answer: "z"}},
			want: []string{"hi<-1, *x<0, 1<1, *y<2, better<2 history, 2<4, *z<5"}},
		"a part of a failed answer": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 5, prompt: "hi|a:x|1", answer: "!"}, {at: 9, prompt: "hi|a:x|1|a:par|2", answer: "z"}},
			want: []string{"hi<-1, *x<0, 1<1, par<2, 2<3, *z<4"}},
		"examples in the prompt": {calls: []request{{at: 1, prompt: "s:be|e|a:f|hi", answer: "x"}, {at: 5, prompt: "s:be|e|a:f|hi|a:x|1", answer: "y"}},
			want: []string{"be<-1, e<0, f<1, hi<2, *x<3, 1<4, *y<5"}},
		"copies by id": {calls: []request{{id: "1", at: 1, prompt: "hi", answer: "x"}, {id: "1", at: 1, prompt: "hi", answer: "x"}, {id: "1", at: 2, prompt: "hi", answer: "x"},
			{id: "2", at: 3, prompt: "hi", answer: "x"}}, want: []string{"hi<-1, *x<0", "hi<-1, *x<0"}, counts: "2 0 0"},
		"copies by time": {calls: []request{{at: 1, prompt: "hi", answer: "x"}, {at: 1, prompt: "hi", answer: "x"}, {at: 1, prompt: "hi", answer: "y"}},
			want: []string{"hi<-1, *x<0", "hi<-1, *y<0"}, counts: "1 0 0"},
		"no copies without times": {calls: []request{{prompt: "hi", answer: "x"}, {prompt: "hi", answer: "x"}}, want: []string{"hi<-1, *x<0", "hi<-1, *x<0"}},
		"copies by the engine's id": {calls: []request{{prompt: "hi", answer: "x", edit: response("r1")}, {prompt: "hi", answer: "x", edit: response("r1")}, {prompt: "hi", answer: "x", edit: response("r2")},
			{prompt: "hi", answer: "y", edit: response("r1")}, {at: 5, prompt: "hi", answer: "x", edit: response("r1")}, {prompt: "ho", answer: "x", edit: response("r1")}},
			want: []string{"hi<-1, *x<0", "hi<-1, *x<0", "hi<-1, *x<0", "hi<-1, *y<0", "ho<-1, *x<0"}, counts: "1 0 0"},
		"tries": {tries: 2, calls: []request{{id: "1", at: 1, prompt: "hi", answer: "!"}, {id: "1", at: 4, prompt: "hi", answer: "!"}, {id: "1", at: 9, prompt: "hi", answer: "x"}},
			want: []string{"hi<-1, *x<0"}},
		"two answers under one id": {calls: []request{{id: "1", at: 1, prompt: "hi", answer: "x"}, {id: "1", at: 1, prompt: "ho", answer: "y"}, {id: "2", at: 9, prompt: "ho|a:y|z", answer: "z"}},
			want: []string{"ambiguous_merge: hi<-1, *x<0", "ambiguous_merge: ho<-1, *y<0", "ho<-1, y<0, z<1, *z<2"}, counts: "0 2 0"},
		"space around": {calls: []request{{at: 1, prompt: "hi", answer: " x\n"}, {at: 5, prompt: "hi|a:x|1", answer: "y"}},
			want: []string{"hi<-1, * x\n<0, 1<1, *y<2"}},
		"a session": {calls: []request{{by: "s", at: 1, prompt: "s:m|hi", answer: "x"}, {by: "s", at: 3, prompt: "s:sub|do", answer: "did"}, {by: "s", at: 5, prompt: "s:m|hi|a:x|did", answer: "y"},
			{by: "t", at: 2, prompt: "s:m|hi", answer: "x"}, {by: "t", at: 6, prompt: "s:m|hi|a:x|did", answer: "w"}},
			want: []string{"m<-1, hi<0, *x<1, sub<-1 subagent, do<3, *did<4, did<2, *y<6", "m<-1, hi<0, *x<1, did<2, *w<3"}},
		"a session with a retry of a failure": {calls: []request{{by: "s", at: 1, prompt: "hi", answer: "!"}, {by: "s", at: 3, prompt: "hi", answer: "x"}},
			want: []string{"hi<-1, *x<0"}},
		"calls at once in a session": {calls: []request{{by: "s", at: 1, took: 9, prompt: "hi", answer: "x"}, {by: "s", at: 3, took: 9, prompt: "ho", answer: "y"}},
			want: []string{"hi<-1, ho<-1 subagent, *x<0, *y<1"}},
		"a gap in a session": {calls: []request{{by: "s", at: 1, prompt: "hi", answer: "x"}, {by: "s", at: 9, prompt: "hi|a:x|1|a:lost|2", answer: "!"},
			{by: "s", at: 10, prompt: "hi|a:x|1|a:lost|2", answer: "y"}, {by: "s", at: 12, prompt: "else", answer: "z"}},
			want: []string{"hi<-1, *x<0, else<-1 subagent, *z<2", "gap: hi<-1, x<0, 1<1, lost<2, 2<3, *y<4"}, counts: "0 0 1"},
		"the last turns kept in a session": {calls: []request{{by: "s", at: 1, prompt: "hi", answer: "x"}, {by: "s", at: 3, prompt: "hi|a:x|1", answer: "y"}, {by: "s", at: 5, prompt: "hi|a:x|1|a:y|2", answer: "z"},
			{by: "s", at: 7, prompt: "hi|a:x|2|a:z|3", answer: "w"}},
			want: []string{"hi<-1, *x<0, 1<1, *y<2, 2<3, *z<4, 2<1 compaction, z<6, 3<7, *w<8"}},
		"a value of several attempts": {calls: []request{{by: "s", at: 1, took: 3, prompt: "hi", answer: "x"}, {by: "s", at: 2, prompt: "hi", answer: "y"},
			{by: "s", at: 5, prompt: "hi|a:x|1", answer: "p"}, {by: "s", at: 6, prompt: "hi|a:y|1", answer: "q"}},
			want: []string{"resampled: hi<-1, *y<0, *x<0 parallel, 1<2, *p<3, 1<1, *q<5"}},
		"rewards": {calls: []request{{at: 10, prompt: "hi", answer: "x", edit: reward(1)}, {at: 20, prompt: "hi|a:x|more", answer: "y", edit: reward(0)}},
			want: []string{"hi<-1, *x<0, more<1, *y<2; differ: reward"}},
	} {
		t.Run(name, func(t *testing.T) {
			var first []importers.Item
			for n := range 12 {
				all := slices.Clone(c.calls)
				if n > 0 {
					r := rand.New(rand.NewPCG(uint64(n), 1))
					r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
				}
				got, items, counts := join(t, calls.Options{ByTime: c.byTime, Memory: int64(64 << (2 * n))}, all)
				slices.Sort(c.want)
				sorted := slices.Sorted(slices.Values(got))
				if d := cmp.Diff(c.want, sorted); d != "" {
					t.Fatalf("order %d:\n%s", n, d)
				}
				if c.counts == "" {
					c.counts = "0 0 0"
				}
				if got := fmt.Sprint(counts.Copies, counts.Ambiguous, counts.Gaps); got != c.counts || counts.Tries != c.tries || counts.Calls != int64(len(all)) || counts.Conversations != int64(len(items)) {
					t.Errorf("%+v, want %s", counts, c.counts)
				}
				if n == 0 {
					first = items
				} else if d := cmp.Diff(first, items); d != "" {
					t.Errorf("order %d gives other rows or another order:\n%s", n, d)
				}
			}
		})
	}
}

// TestAuxiliaryCalls: a title beside a call with tools does not train, unless the user says so.
func TestAuxiliaryCalls(t *testing.T) {
	tools := func(x *importers.Item) {
		x.Row.ToolSets, x.Row.Calls[0].Tools = []string{`[{"type":"function","function":{"name":"f"}}]`}, 0
	}
	for _, train := range []bool{false, true} {
		_, items, _ := join(t, calls.Options{Train: train, Memory: 1 << 20}, []request{{by: "s", at: 1, prompt: "s:act|hi", answer: "x", edit: tools},
			{by: "s", at: 5, prompt: "s:a title|hi", answer: "greeting"}})
		if c := items[0].Row.Calls; len(items) != 1 || !c[0].Target || c[1].Target != train {
			t.Errorf("train %v: %+v", train, items)
		}
	}
}

func response(id string) func(*importers.Item) {
	return func(i *importers.Item) { i.ResponseID = id }
}

func reward(x float64) func(*importers.Item) {
	return func(i *importers.Item) { i.Row.Reward = &x }
}

// TestTokensOfOneCopy: of two records of a call one may have its tokens, and the other all else.
func TestTokensOfOneCopy(t *testing.T) {
	tokens := func(x *importers.Item) {
		m := &x.Row.Messages[1]
		m.TokenIDs, m.PromptDeltaIDs, x.Row.TokenSource = []int32{7}, []int32{1}, "choice.token_ids"
	}
	lacks := func(x *importers.Item) { x.Row.Metadata = `{"no_tokens":"of a stream","cost":1}` }
	all := []request{
		{id: "c", prompt: "hi", answer: "x", edit: tokens},
		{id: "c", by: "s", at: 5, prompt: "hi", answer: "x", edit: lacks},
		{id: "c", by: "s", at: 2, prompt: "hi", answer: "!"},
		{id: "d", by: "s", at: 9, prompt: "hi|a:x|go", answer: "y"},
	}
	for n := range 24 {
		rand.New(rand.NewPCG(1, uint64(n))).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		_, items, counts := join(t, calls.Options{Memory: 1 << 20}, all)
		if len(items) != 1 || counts.Copies != 1 || counts.Tries != 1 {
			t.Fatalf("%+v %+v", counts, items)
		}
		r := items[0].Row
		if m := r.Messages[1]; len(r.Calls) != 2 || fmt.Sprint(m.TokenIDs, m.PromptDeltaIDs) != "[7] [1]" || r.TokenSource == "" || r.StartedAt != 5 ||
			r.Calls[0].Attempts != 2 || !strings.Contains(r.Metadata, `"cost"`) || strings.Contains(r.Metadata, "no_tokens") {
			t.Fatalf("%+v", r)
		}
	}
}
