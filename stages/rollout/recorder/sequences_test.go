package recorder_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// TestEverySampledTokenIsExportedOnce: a harness with sub-agents, compaction,
// thinking that the template strips, retries, n > 1, streaming and tools. What the
// engine sampled for it is in exactly one exported sequence, behind the prompt
// that the engine saw, with its log probabilities; only the answers that the
// harness threw away are apart. Every third trajectory is forked at a call: what the fork
// repeats is exported with its origin alone. COUNT trajectories, by default a sample.
func TestEverySampledTokenIsExportedOnce(t *testing.T) {
	count, err := strconv.Atoi(cmp.Or(os.Getenv("COUNT"), "60"))
	if err != nil {
		t.Fatal(err)
	}
	const batch = 50 // trajectories of one engine
	did, breaks := map[string]int{}, map[string]int{}
	var sum sequences.Tally
	for first := 0; first < count; first += batch {
		b := &harnessed{t: t, did: did}
		b.engine = &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Reasoning: first/batch%2 == 0, Script: script}
		b.recorder = record(t, b.engine)
		for i := first; i < min(first+batch, count); i++ {
			b.run(i)
			if i%3 == 0 {
				b.fork(i)
			}
		}
		tally := b.check()
		sum.Trajectories, sum.Sequences, sum.Tokens = sum.Trajectories+tally.Trajectories, sum.Sequences+tally.Sequences, sum.Tokens+tally.Tokens
		sum.In, sum.Alternatives = sum.In+tally.In, sum.Alternatives+tally.Alternatives
		for _, row := range b.rows {
			for _, m := range row.Messages {
				breaks[cmp.Or(m.PrefixBreak, m.Branch)]++
			}
		}
		b.recorder.Close()
		b.engine.Close()
	}
	delete(breaks, "")
	t.Logf("%s; %d tokens of answers that were not chosen; steps %v; breaks and branches %v", &sum, sum.Alternatives, did, breaks)
	for _, what := range []string{"turn", "stream", "tool", "subagent", "compaction", "retry", "choices", "fork"} {
		if did[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
	for _, cause := range []string{"reasoning", "subagent", "compaction"} {
		if breaks[cause] == 0 {
			t.Errorf("nothing is apart for %s", cause)
		}
	}
}

// script answers with a text, or with a call of a tool if it is asked to, that
// depends on the messages, the seed and the choice.
func script(q recordertest.Request) recordertest.Reply {
	h := fnv.New32a()
	fmt.Fprint(h, q.Messages, string(q.Fields["seed"]), q.Choice)
	answer := fmt.Sprintf("answer %d of %x", q.Choice, h.Sum32())
	if last := q.Messages[len(q.Messages)-1]; strings.HasPrefix(last.Content, "look up") {
		return recordertest.Reply{Content: answer,
			ToolCalls: []formats.ToolCall{{ID: fmt.Sprintf("call_%x", h.Sum32()), Name: "search", Arguments: fmt.Sprintf(`{"q":%d}`, h.Sum32())}}}
	}
	return recordertest.Reply{Content: answer}
}

// harnessed is trajectories of one engine.
type harnessed struct {
	t        *testing.T
	engine   *recordertest.Engine
	recorder *recorder.Recorder
	rows     []formats.Trajectory
	calls    []int // that the engine answered, with each choice, by trajectory
	unchosen []int
	did      map[string]int
}

// run runs a trajectory whose steps follow from its number.
func (b *harnessed) run(number int) {
	rec, h := b.record(number)
	b.add(fmt.Sprint("t", number), rec)
	b.calls, b.unchosen = append(b.calls, h.calls), append(b.unchosen, h.unchosen)
}

func (b *harnessed) add(id string, rec recorder.Record) {
	row := formats.Trajectory{TrajectoryID: id, Calls: rec.Calls, ToolSets: rec.ToolSets, Reward: new(1.0), Advantage: new(1.0), Status: outcomes.StatusOK}
	row.Messages, row.Candidates = tree.SplitAlternatives(rec.Messages, rec.Calls)
	b.rows = append(b.rows, row)
}

// fork forks the last trajectory, which has a number, at one of its calls.
func (b *harnessed) fork(number int) {
	origin := &b.rows[len(b.rows)-1]
	answered := recorder.AnsweredOf(origin)
	whole := slices.IndexFunc(answered, func(a recorder.Answered) bool { return a.Request == "" })
	if whole < 0 {
		whole = len(answered) - 1
	}
	k := number / 3 % (whole + 1) // up to the first call whose answers it does not have whole
	before := len(b.engine.Sampled())
	rec, h := b.recordBy(&synthetic{seed: 1000}, number, recorder.Resume{Origin: answered, Fork: int32(k)})
	if rec.Earlier != k || len(b.engine.Sampled())-before != h.calls-k {
		b.t.Fatalf("trajectory %d at call %d: %d calls are repeated and %d of %d answers sampled", number, k, rec.Earlier,
			len(b.engine.Sampled())-before, h.calls)
	}
	b.add(fmt.Sprint("fork of ", origin.TrajectoryID), rec)
	b.did["fork"]++
	b.calls, b.unchosen = append(b.calls, h.calls-k), append(b.unchosen, len(b.rows[len(b.rows)-1].Candidates))
}

// record is what was recorded of a trajectory.
func (b *harnessed) record(number int, resume ...recorder.Resume) (recorder.Record, *synthetic) {
	return b.recordBy(&synthetic{}, number, resume...)
}

func (b *harnessed) recordBy(h *synthetic, number int, resume ...recorder.Resume) (recorder.Record, *synthetic) {
	s := b.recorder.Begin(context.Background(), fmt.Sprint("t", number), "g", resume...)
	h.b, h.s, h.rand = b, s, rand.New(rand.NewPCG(7, uint64(number)))
	system := fields{"role": "system", "content": "be brief"}
	chat := h.ask([]fields{system, user(fmt.Sprintf("task %d", number))})
	for range 1 + h.rand.IntN(6) {
		chat = h.step(system, chat)
	}
	rec := s.End()
	if rec.Untrainable != nil || rec.LastCall != nil {
		b.t.Fatalf("trajectory %d: unfit %v, last call %v", number, rec.Untrainable, rec.LastCall)
	}
	return rec, h
}

// synthetic is an agent that does what agents do.
type synthetic struct {
	b               *harnessed
	s               *recorder.Session
	rand            *rand.Rand
	calls, unchosen int
	seed            int // added to that of each call
}

// step does one thing and returns the conversation after it.
func (h *synthetic) step(system fields, chat []fields) []fields {
	n := h.rand.IntN(100)
	switch kind := h.rand.IntN(6); kind {
	case 0:
		h.b.did["tool"]++
		chat = h.ask(append(chat, user(fmt.Sprint("look up ", n))))
		calls := chat[len(chat)-1]["tool_calls"].([]any)
		return h.ask(append(chat, fields{"role": "tool", "tool_call_id": calls[0].(fields)["id"], "content": fmt.Sprint("found ", n)}))
	case 1:
		h.b.did["subagent"]++
		sub := h.ask([]fields{{"role": "system", "content": "you help"}, user(fmt.Sprint("what of ", n, h.calls))})
		if n%2 == 0 {
			sub = h.ask(append(sub, user("sure?")))
		}
		return h.ask(append(chat, user(fmt.Sprint("it says ", sub[len(sub)-1]["content"]))))
	case 2:
		h.b.did["compaction"]++
		return h.ask([]fields{system, user(fmt.Sprint("so far: ", h.calls, " calls, the last was ", chat[len(chat)-1]["content"]))})
	case 3:
		h.b.did["retry"]++
		h.unchosen++
		chat = append(chat, user(fmt.Sprint("again ", n)))
		h.ask(chat)
		return h.ask(chat)
	case 4:
		h.b.did["choices"]++
		h.unchosen++
		return h.choose(append(chat, user(fmt.Sprint("pick ", n))), 2)
	}
	h.b.did["turn"]++
	return h.ask(append(chat, user(fmt.Sprint("go on ", n))))
}

// ask returns the messages and the answer, streamed or not.
func (h *synthetic) ask(messages []fields) []fields {
	if h.rand.IntN(2) == 0 {
		return h.choose(messages, 1)
	}
	h.b.did["stream"]++
	h.calls++
	status, body := ask(h.b.t, h.s, fields{"stream": true, "seed": h.seed + h.calls}, messages...)
	if status != 200 {
		h.b.t.Fatal(status, string(body))
	}
	return append(slices.Clone(messages), joined(body))
}

// joined is the message that the deltas of a stream make.
func joined(stream []byte) fields {
	out := fields{"role": "assistant"}
	text, calls, arguments := "", []any(nil), ""
	for line := range strings.Lines(string(stream)) {
		var c struct {
			Choices []struct {
				Delta struct {
					Content string
					Calls   []fields `json:"tool_calls"`
				}
			}
		}
		data, _ := strings.CutPrefix(line, "data: ")
		if json.Unmarshal([]byte(data), &c) != nil || len(c.Choices) == 0 {
			continue
		}
		text += c.Choices[0].Delta.Content
		for _, call := range c.Choices[0].Delta.Calls {
			if calls == nil {
				calls = append(calls, call)
			}
			arguments += call["function"].(fields)["arguments"].(string)
		}
	}
	out["content"] = text
	if calls != nil {
		calls[0].(fields)["function"].(fields)["arguments"] = arguments
		delete(calls[0].(fields), "index")
		out["tool_calls"] = calls
	}
	return out
}

// choose asks for n answers and goes on with one.
func (h *synthetic) choose(messages []fields, n int) []fields {
	h.calls += n
	q := fields{"seed": h.seed + h.calls}
	if n > 1 {
		q["n"] = n
	}
	status, body := ask(h.b.t, h.s, q, messages...)
	var answer struct{ Choices []struct{ Message fields } }
	if err := json.Unmarshal(body, &answer); err != nil || status != 200 || len(answer.Choices) != n {
		h.b.t.Fatal(status, err, string(body))
	}
	taken := answer.Choices[h.rand.IntN(n)].Message
	delete(taken, "reasoning_content") // as most harnesses send it back
	delete(taken, "engine_says")
	return append(slices.Clone(messages), taken)
}

// check exports the trajectories and compares the rows with the engine's log.
func (b *harnessed) check() sequences.Tally {
	var tally, sum sequences.Tally
	for i := range b.rows {
		list, problem := sequences.Of(&b.rows[i])
		if problem != nil {
			b.t.Fatal(problem)
		}
		sum.Totals.Add(list)
	}
	var out bytes.Buffer
	sink := trainers.Sequences.Lines(&out)
	weights := &sequences.Weights{Per: sequences.Trajectory, Totals: sum.Totals}
	if err := sink.Give(&exporters.Item{Rows: b.rows, Weights: weights, Tally: &tally, Skip: func(reason string) {
		b.t.Errorf("a trajectory is skipped: %s", reason)
	}}); err != nil {
		b.t.Fatal(err)
	}
	exported := map[string][]trainers.SequenceRow{}
	for line := range bytes.Lines(out.Bytes()) {
		var row trainers.SequenceRow
		if err := json.Unmarshal(line, &row); err != nil {
			b.t.Fatal(err)
		}
		exported[row.TrajectoryID] = append(exported[row.TrajectoryID], row)
	}
	log := b.engine.Sampled()
	for i := range b.rows {
		b.same(i, exported[b.rows[i].TrajectoryID], log[:b.calls[i]])
		log = log[b.calls[i]:]
		worth := 0.0
		for _, r := range exported[b.rows[i].TrajectoryID] {
			worth += r.Weight * float64(r.Tokens)
		}
		if want := float64(sum.Tokens) / float64(sum.Trajectories); math.Abs(worth-want) > 1e-9*want {
			b.t.Errorf("%s is worth %v tokens, want %v", b.rows[i].TrajectoryID, worth, want)
		}
	}
	if len(log) > 0 || tally.Lost > 0 || tally.In != tally.Tokens {
		b.t.Errorf("%d answers of nobody; %+v", len(log), tally)
	}
	return tally
}

// same compares the rows of a trajectory with the answers that the engine gave it.
func (b *harnessed) same(i int, rows []trainers.SequenceRow, log []recordertest.Sample) {
	log = slices.Clone(log)
	for _, r := range rows {
		trained := 0
		for _, v := range r.Versions {
			before := slices.Concat(r.PromptIDs, r.ResponseIDs[:v.Start])
			at := slices.IndexFunc(log, func(s recordertest.Sample) bool {
				return slices.Equal(s.Prompt, before) && slices.Equal(s.IDs, r.ResponseIDs[v.Start:v.End]) &&
					slices.Equal(s.Logprobs, r.Logprobs[v.Start:v.End])
			})
			if at < 0 {
				b.t.Fatalf("%s, sequence %d: tokens %d to %d are in no answer of the engine", r.TrajectoryID, r.Sequence, v.Start, v.End)
			}
			log = slices.Delete(log, at, at+1)
			for k := v.Start; k < v.End; k++ {
				if !r.LossMask[k] {
					b.t.Fatalf("%s, sequence %d: token %d does not train", r.TrajectoryID, r.Sequence, k)
				}
				trained++
			}
		}
		if trained != int(r.Tokens) || trained != count(r.LossMask) {
			b.t.Fatalf("%s, sequence %d: %d tokens were sampled, %d train", r.TrajectoryID, r.Sequence, trained, count(r.LossMask))
		}
	}
	if len(log) != b.unchosen[i] || len(b.rows[i].Candidates) != b.unchosen[i] {
		b.t.Fatalf("%s: %d answers are in no sequence and %d are candidates, but the harness threw %d away", b.rows[i].TrajectoryID, len(log),
			len(b.rows[i].Candidates), b.unchosen[i])
	}
	for _, c := range b.rows[i].Candidates {
		if !slices.ContainsFunc(log, func(s recordertest.Sample) bool {
			return slices.Equal(s.IDs, c.TokenIDs) && slices.Equal(s.Logprobs, c.Logprobs)
		}) {
			b.t.Fatalf("%s: a candidate that the engine did not sample: %+v", b.rows[i].TrajectoryID, c)
		}
	}
}

func count(mask []bool) (n int) {
	for _, m := range mask {
		if m {
			n++
		}
	}
	return n
}
