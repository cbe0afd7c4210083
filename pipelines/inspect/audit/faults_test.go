package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
)

// fault is a fault and the check that finds it.
type faultCase struct {
	check, name string
	make        scenario
	what        string // text of the finding
}

var faults = []faultCase{
	{"damage", "a byte of a part was changed", func(w *world, sick bool) {
		d := w.wide("rollout", "rollout", trajectories(small))
		if sick {
			w.bytes(d, flip)
		}
	}, "digest is"},
	{"damage", "a part was cut short", func(w *world, sick bool) {
		d := w.wide("rollout", "rollout", trajectories(small))
		if sick {
			w.bytes(d, func(data []byte) []byte { return data[:len(data)-9] })
		}
	}, "bytes; the manifest says"},
	{"damage", "one of several manifests is not a manifest", func(w *world, sick bool) {
		w.wide("rollout", "rollout", trajectories(small))
		if sick {
			w.write("score", manifest.FileName, []byte("none"))
		}
	}, "not a manifest"},
	{"damage", "the rows differ from the manifest", func(w *world, sick bool) {
		rows := trajectories(small)
		spec := manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}
		d := put(w, "rollout", spec, rows)
		if sick { // each part is what it was
			data, err := json.Marshal(d.Manifest)
			if err != nil {
				w.t.Fatal(err)
			}
			w.write("rollout", manifest.FileName, []byte(strings.Replace(string(data), d.RowsDigest.String(), other(d.RowsDigest.String()), 1)))
		}
	}, "rows digest"},
	{"changed", "the base is gone", func(w *world, sick bool) {
		scores(func([]formats.Score, bool) {})(w, sick)
		if d, err := dataset.Open(context.Background(), w.at("rollout"), dataset.OpenOptions{}); err != nil {
			w.t.Fatal(err)
		} else if sick {
			w.remove(d)
		}
	}, "is gone"},
	{"changed", "the base was replaced", func(w *world, sick bool) {
		scores(func([]formats.Score, bool) {})(w, sick)
		if sick {
			d, err := dataset.Open(context.Background(), w.at("rollout"), dataset.OpenOptions{})
			if err != nil {
				w.t.Fatal(err)
			}
			w.remove(d)
			w.wide("rollout", "rollout", trajectories(small)[:36])
		}
	}, "changed since"},
	{"changed", "a byte of a base outside the run was changed", func(w *world, sick bool) {
		root := w.root
		w.root = root + "-elsewhere"
		base := w.wide("rollout", "rollout", trajectories(small))
		w.root = root
		var rows []formats.Score
		for group := range randomtest.Scores(5, small) {
			rows = append(rows, group...)
		}
		put(w, "score", thinSpec(w, base, "score", schema.KindScores), rows)
		if sick {
			w.bytes(base, flip)
		}
	}, "its base is damaged"},
	{"repeated", "the last row is the first again", spoiled(func(rows []formats.Trajectory) { rows[39].TrajectoryID = rows[0].TrajectoryID }),
		"repeat a trajectory"},
	{"leak", "a validation's examples are rolled out", func(w *world, sick bool) {
		w.wide("epoch-0/rollout", "rollout", trajectories(small))
		leak(sick, w)
	}, "also in a validation"},
	{"leak", "a validation's examples are curated", func(w *world, sick bool) {
		rows := trajectories(small)
		w.wide("epoch-0/rollout", "rollout", rows)
		leak(true, w)
		if !sick { // it is what curate left out
			for i := range rows {
				rows[i].ExampleID, rows[i].Example = "x"+rows[i].ExampleID, `{"question":"x"}`
			}
		}
		w.wide("epoch-0/curate", "curate", rows)
	}, "also in a validation"},
	{"leak_text", "a validation's question is asked under another id and example", func(w *world, sick bool) {
		rows := trajectories(small)
		for i := range rows {
			rows[i].Messages[1].Role, rows[i].Messages[1].Content = "user", fmt.Sprintf("what is the %d-th of the questions that are held out?", i/4)
		}
		w.wide("epoch-0/validation/rollout", "rollout", rows)
		rows = trajectories(small)
		for i := range rows {
			rows[i].TrajectoryID, rows[i].ExampleID, rows[i].Example = "x"+rows[i].TrajectoryID, "x"+rows[i].ExampleID, fmt.Sprintf(`{"question":"x%d"}`, i/4)
			if rows[i].Messages[1].Role, rows[i].Messages[1].Content = "user", fmt.Sprintf("what is another question, %d?", i/4); sick && i < 4 {
				rows[i].Messages[1].Content = "what is  the 3-th of the questions that\nare held out?"
			}
		}
		w.wide("epoch-0/rollout", "rollout", rows)
	}, "have the first question"},
	{"leak_words", "a prompt has the words of a held-out question", heldTexts("Tell me: WHICH of these (thirteen) words would a careful reader notice in the other text"),
		"rows have words of a held-out text row 39 "},
	{"leak_short", "a held-out answer has few words", heldTexts("unlike", "42"), "by field: map[example.answer:1]; 1 texts are"},
	{"resubmitted", "a batch was sent twice; the twin attached to its job", secondReceipt(receipts.Receipt{Key: "k", Backend: "art", State: receipts.JobCompleted,
		Trajectories: 40, StartedAt: time.Unix(1, 0)}), "submitted to art before"},
	{"resubmitted", "a batch was sent twice; the twin failed", secondReceipt(receipts.Receipt{Key: "k", Backend: "art", State: receipts.JobFailed,
		Trajectories: 40, StartedAt: time.Unix(2, 0)}), "submitted to art before"},
	{"resubmitted", "a batch was sent twice; the twin to another trainer", secondReceipt(receipts.Receipt{Key: "l", Backend: "art", State: receipts.JobCompleted,
		Trajectories: 40, StartedAt: time.Unix(2, 0)}), "submitted to art before"},

	{"unnamed", "a killed writer left a part", func(w *world, sick bool) {
		d := w.wide("rollout", "rollout", trajectories(small))
		if sick {
			w.write("rollout", strings.Replace(d.Parts[0].Name, "-00000-", "-00001-", 1), []byte("PAR1"))
		}
	}, "does not name"},
	{"unnamed", "a copy of a part is next to it", func(w *world, sick bool) {
		w.wide("rollout", "rollout", trajectories(small))
		if sick {
			w.write("rollout", "copy of part.parquet", []byte("PAR1"))
		}
	}, "such as copy of part.parquet"},
	{"unfinished", "one of two shards is there", func(w *world, sick bool) {
		w.wide("rollout", "rollout", trajectories(small))
		s, err := shards.Begin(context.Background(), w.at("score"), manifest.Spec{Stage: "score", Kind: schema.KindScores}, shards.Options{Of: 2})
		if err != nil {
			w.t.Fatal(err)
		}
		if !sick {
			return
		}
		if _, err := s.Commit(context.Background(), shards.Outcome{}); err != nil {
			w.t.Fatal(err)
		}
	}, "shard 1 of 2 missing"},

	{"rows", "a failure counts as reward 0", spoiled(func(rows []formats.Trajectory) { fail(&rows[3]); rows[3].Reward = number(0.0) }), "break what"},
	{"rows", "a reward is NaN", spoiled(func(rows []formats.Trajectory) { rows[3].Reward = number(math.NaN()) }), "break what"},
	{"rows", "log probabilities are fewer than tokens", spoiled(func(rows []formats.Trajectory) {
		rows[3].Messages[2].Logprobs = rows[3].Messages[2].Logprobs[1:]
	}), "break what"},
	{"rows", "a log probability is positive", spoiled(func(rows []formats.Trajectory) { rows[3].Messages[2].Logprobs[0] = 2 }), "break what"},
	{"rows", "a failure is scored", scores(func(rows []formats.Score, sick bool) {
		if rows[3].Status = outcomes.StatusFailed; !sick {
			rows[3].Reward, rows[3].Rewards, rows[3].Failure = nil, nil, outcomes.RewardTrajectory
		}
	}), "break what"},
	{"rows", "scores are of other trajectories", scores(func(rows []formats.Score, sick bool) {
		if sick {
			rows[0].TrajectoryID, rows[1].TrajectoryID = rows[1].TrajectoryID, rows[0].TrajectoryID
		}
	}), "break what"},
	{"empty", "nothing was kept", func(w *world, sick bool) {
		rows := trajectories(small)
		if sick {
			rows = nil
		}
		w.wide("curate", "curate", rows)
	}, "no rows"},
	{"no_logprobs", "no answer has log probabilities", spoiled(func(rows []formats.Trajectory) {
		for i := range rows[3].Messages {
			rows[3].Messages[i].Logprobs = nil
		}
	}), "have no log probabilities"},
	{"partial_logprobs", "an answer has no log probabilities", spoiled(func(rows []formats.Trajectory) { rows[3].Messages[2].Logprobs = nil }),
		"answers without log probabilities"},
	{"no_token_ids", "an answer has no token ids", spoiled(func(rows []formats.Trajectory) { rows[3].Messages[2].TokenIDs = nil }),
		"answers without token ids"},
	{"untrained", "only another model was asked", spoiled(func(rows []formats.Trajectory) {
		for i := range rows[3].Calls {
			rows[3].Calls[i].Target = false
		}
	}), "nothing sampled"},
	{"temperature", "raw logprobs at 0.7; the twin's are processed", rollout(small, func(rows []formats.Trajectory, sick bool) {
		rows[3].Calls[0].Sampling, rows[3].Calls[0].LogprobsMode = `{"temperature":0.7,"logprobs_mode":"processed_logprobs"}`, formats.LogprobsRaw
		if !sick {
			rows[3].Calls[0].LogprobsMode = formats.LogprobsProcessed
		}
	}), "1 at temperature 0.7"},
	{"temperature", "the engine was not asked whether its logprobs are raw", spoiled(sampledBy(`{"temperature":0.7}`)), "rollmill check"},
	{"reshaped", "a penalty", rollout(small, sampledAs(`{"presence_penalty":0}`, `{"presence_penalty":1.5}`)), "1 presence_penalty"},
	{"support", "top_p and top_k", rollout(small, sampledAs(`{"top_p":1,"top_k":-1}`, `{"top_p":0.9,"top_k":20}`)), "1 top_p and top_k"},
	{"grammar", "a tool was required", rollout(small, sampledAs(`{"tool_choice":"auto","response_format":{"type":"text"}}`, `{"tool_choice":"required"}`)),
		"1 tool_choice"},
	{"grammar", "a schema", spoiled(sampledBy(`{"response_format":{"type":"json_schema"}}`)), "1 response_format"},
	{"unchecked", "an answer has no usage", rollout(small, sampledAs(`{"no_usage":false}`, `{"no_usage":true}`)), "1 without usage"},
	{"ambiguous_calls", "clients read the calls of a stream differently", rollout(small, sampledAs(`{}`, `{"ambiguous_tool_calls":true}`)), "tool calls in streams"},
	{"logprob_floors", "a logprob is missing", spoiled(func(rows []formats.Trajectory) { rows[3].Messages[2].Logprobs[1] = -9999 }),
		"messages[2].logprobs[1] is -9999"},
	{"clamped", "low logprobs are cut at one value; the twin's differ", rollout(small, func(rows []formats.Trajectory, sick bool) {
		for i := range 6 {
			if rows[i].Messages[2].Logprobs[0] = -12.5; !sick {
				rows[i].Messages[2].Logprobs[0] -= float32(i)
			}
		}
	}), "clamped"},
	{"prompt_ids", "the history was tokenised again, into one id less", spoiled(func(rows []formats.Trajectory) {
		m := &rows[3].Messages[2]
		m.PromptDeltaIDs = m.PromptDeltaIDs[1:]
	}), "message 2: the ids before it are"},
	{"answer_ids", "an id and its logprob were cut off", spoiled(func(rows []formats.Trajectory) {
		m := &rows[3].Messages[2]
		m.TokenIDs, m.Logprobs = m.TokenIDs[1:], m.Logprobs[1:]
	}), "the engine counted"},
	{"disagreement", "two members begin with the same tokens and different logprobs; the twin's are equal",
		rollout(small, func(rows []formats.Trajectory, sick bool) {
			a, b := &rows[0].Messages[2], &rows[1].Messages[2]
			for i := range 5 {
				b.TokenIDs[i], a.Logprobs[i], b.Logprobs[i] = a.TokenIDs[i], -0.5, -0.5
				if sick {
					b.Logprobs[i] = -3
				}
			}
		}), "has logprob -3 here and -0.5"},
	{"copies", "an attempt has two ids; the twin's began later", rollout(small, func(rows []formats.Trajectory, sick bool) {
		if sick {
			id, generation := rows[1].TrajectoryID, rows[1].Generation
			rows[1] = rows[0]
			rows[1].TrajectoryID, rows[1].Generation = id, generation
		}
	}), "the same attempt as"},
	{"twins", "two rows sampled the same; the twin's differ in a bit", func(w *world, sick bool) {
		o := small
		o.SampledTokens = 400
		rows := trajectories(o)
		digest, id, generation := rows[1].PayloadDigest, rows[1].TrajectoryID, rows[1].Generation
		rows[1] = rows[0]
		rows[1].PayloadDigest, rows[1].TrajectoryID, rows[1].Generation = digest, id, generation
		rows[1].StartedAt = rows[0].StartedAt + 1
		rows[1].Messages = slices.Clone(rows[1].Messages)
		m := &rows[1].Messages[2]
		if m.Logprobs = slices.Clone(m.Logprobs); !sick {
			m.Logprobs[0] = math.Nextafter32(m.Logprobs[0], 0)
		}
		w.wide("rollout", "rollout", rows)
	}, "exactly the ids and logprobs"},
	{"shifted", "an end of turn comes first; the twin's comes last", rollout(small, func(rows []formats.Trajectory, sick bool) {
		for i := range rows {
			for k := range rows[i].Messages {
				if delta := rows[i].Messages[k].PromptDeltaIDs; len(delta) > 0 {
					delta[len(delta)/2] = 3
				}
				if ids := rows[i].Messages[k].TokenIDs; len(ids) > 0 && sick {
					ids[0] = 3
				} else if len(ids) > 0 {
					ids[len(ids)-1] = 3
				}
			}
		}
	}), "begins with id 3"},
	{"shifted", "answers begin with their prompt's last id; the twin's do not", rollout(small, func(rows []formats.Trajectory, sick bool) {
		for i := range rows {
			for k := range rows[i].Messages {
				if m := &rows[i].Messages[k]; len(m.PromptDeltaIDs) > 0 && len(m.TokenIDs) > 0 {
					last := m.PromptDeltaIDs[len(m.PromptDeltaIDs)-1]
					if m.TokenIDs[0] = last + 1; sick {
						m.TokenIDs[0] = last
					}
				}
			}
		}
	}), "begins with its prompt's last id"},
	{"shifted", "answers end with the first id after them; the twin's do not", rollout(small, func(rows []formats.Trajectory, sick bool) {
		for i := range rows {
			for k := range rows[i].Messages {
				m := &rows[i].Messages[k]
				if len(m.PromptDeltaIDs) > 0 {
					m.PromptDeltaIDs[0] = 3
				}
				if n := len(m.TokenIDs); n > 0 {
					if m.TokenIDs[n-1] = 4; sick {
						m.TokenIDs[n-1] = 3
					}
				}
			}
		}
	}), "ends with the first id after it"},
	{"tool_calls", "a sampled call was lost", spoiled(func(rows []formats.Trajectory) { withTools(rows).Messages[2].ToolCalls = nil }),
		"which no message before it makes"},
	{"unparsed_tools", "a call is in the text", spoiled(func(rows []formats.Trajectory) {
		m := &rows[3].Messages[len(rows[3].Messages)-1]
		m.Content, m.ToolCalls = "<tool_call>{}</tool_call>", nil
	}), "1 <tool_call>"},
	{"keys", "a user gives a token away", spoiled(func(rows []formats.Trajectory) {
		rows[3].Messages[0].Content += " ghp_abcdefghijABCDEFGHIJ0123456789abcdef"
	}), "1 github"},
	{"failures", "5 of 40 failed; 4 in the twin", rollout(small, func(rows []formats.Trajectory, sick bool) {
		for i := range count4(sick) {
			fail(&rows[8*i])
		}
	}), "5 engine"},
	{"unscored", "5 of 40 have no reward; of the twin 4", scores(func(rows []formats.Score, sick bool) {
		for i := range count4(sick) {
			unscore(&rows[8*i])
		}
	}), "5 crashed"},
	{"truncated", "9 of 40 were cut off; of the twin 8", rollout(bare(small), func(rows []formats.Trajectory, sick bool) {
		for i := range 4 + count4(sick) {
			rows[4*i].Status, rows[4*i].StopReason = outcomes.StatusTruncated, outcomes.StopLength
		}
	}), "9 length"},
	{"mismatch", "the ratio is 1.02; that of the twin 1.001", signals(0.001, 0.02), "all: mean ratio 1.02020 over"},
	{"witness_unjoined", "the other record lacks a row", witnessed(func(t *formats.Trajectory) { t.TrajectoryID, t.Messages, t.Example = "other", nil, "" }), "1 without a counterpart"},
	{"witness_calls", "an answer is no answer", witnessed(func(t *formats.Trajectory) {
		i := lastSampled(t)
		t.Messages = slices.Delete(t.Messages, i, len(t.Messages))
	}), "calls: only the other record has them: 1 the last"},
	{"witness_shift", "two answers in another order", witnessed(func(t *formats.Trajectory) {
		i, k := firstSampled(t), lastSampled(t)
		a, b := &t.Messages[i], &t.Messages[k]
		a.Content, b.Content, a.ToolCalls, b.ToolCalls, a.TokenIDs, b.TokenIDs, a.Logprobs, b.Logprobs, a.Call, b.Call =
			b.Content, a.Content, b.ToolCalls, a.ToolCalls, b.TokenIDs, a.TokenIDs, b.Logprobs, a.Logprobs, b.Call, a.Call
	}), "single answers"},
	{"witness_answers", "another text", witnessed(func(t *formats.Trajectory) { t.Messages[lastSampled(t)].Content = "something else" }), "something else"},
	{"witness_tools", "another call", witnessed(func(t *formats.Trajectory) {
		t.Messages[lastSampled(t)].ToolCalls = []formats.ToolCall{{Name: "other", Arguments: "{}"}}
	}), "other {}"},
	{"witness_tools", "another result", witnessed(func(t *formats.Trajectory) {
		i := slices.IndexFunc(t.Messages, func(m formats.Message) bool { return m.Role == "tool" })
		t.Messages[i].Content = "something else"
	}), "something else"},
	{"witness_ids", "another id", witnessed(func(t *formats.Trajectory) { t.Messages[lastSampled(t)].TokenIDs[0]++ }), "token ids: the records differ"},
	{"witness_logprobs", "another logprob", witnessed(func(t *formats.Trajectory) { t.Messages[lastSampled(t)].Logprobs[0] -= 0.5 }), "logprobs: the records differ"},
	{"witness_rewards", "another reward", witnessed(func(t *formats.Trajectory) { *t.Reward += 1 }), "reward: the records differ"},
	{"witness_tokens", "another number of tokens", witnessed(func(t *formats.Trajectory) { t.Calls[0].PromptTokens++ }), "prompt tokens: the records differ"},
	{"witness_roles", "another role", witnessed(func(t *formats.Trajectory) { t.Messages[0].Role = "developer" }), "1 system and developer"},
	{"witness_prompts", "another prompt", witnessed(func(t *formats.Trajectory) { t.Messages[0].Content = "something else" }), "something else"},
	{"witness_retries", "a retry more", witnessed(func(t *formats.Trajectory) {
		t.Candidates = append(t.Candidates, formats.Candidate{Content: "tried before", Reason: outcomes.CandidateRetried})
	}), "tried before"},
	{"witness_status", "another status", witnessed(func(t *formats.Trajectory) { t.Status = outcomes.StatusTruncated }), "truncated"},
	{"witness_auxiliary", "a call of a sub-agent more", witnessed(func(t *formats.Trajectory) {
		t.Calls = append(t.Calls, formats.Call{Tools: -1})
		t.Messages = slices.Insert(t.Messages, len(t.Messages)-1, formats.Message{Parent: -1, Role: "assistant", Content: "A title", Sampled: true, Call: int32(len(t.Calls) - 1)})
		t.Messages[len(t.Messages)-1].Parent = int32(len(t.Messages) - 3)
	}), "A title"},
	{"witness_silent", "no logprobs at all", func(w *world, sick bool) {
		second(w, func(rows []formats.Trajectory) {
			for i := range rows {
				for k := range rows[i].Messages {
					if sick {
						rows[i].Messages[k].Logprobs = nil
					}
				}
			}
		})
	}, "logprobs: this record has none"},
	{"mismatch_slight", "the ratio is 1.003; that of the twin 1.001", signals(0.001, 0.003), "all: mean ratio 1.00300 over"},
	{"flat", "6 of 10 groups are flat; of the twin 5", scores(func(rows []formats.Score, sick bool) {
		for i := range 4 * (1 + count4(sick)) {
			rows[i].Reward = number(0.5)
		}
	}), "no training signal: 6 by rewards"},
	{"flat", "6 of 10 groups that are scattered have no advantage but 0; of the twin 5", groupTables(func(rows []formats.Member, _ []formats.GroupStats, sick bool) {
		for i := range rows {
			if i%10 < 1+count4(sick) {
				rows[i].Advantage = number(1e-10)
			}
		}
	}), "6 by advantages"},
	{"flat", "6 of 10 groups of a curated dataset have no advantage but 0; of the twin 5 and one of messages", func(w *world, sick bool) {
		rows := trajectories(small)
		for i := range rows {
			rows[i].Advantage = number(float64(max(0, i/4-5)))
			if i == 5 && !sick {
				answer := slices.IndexFunc(rows[i].Messages, func(m formats.Message) bool { return m.Sampled })
				rows[i].Advantages = []training.MessageAdvantage{{Message: int32(answer), Value: -.5}}
			}
		}
		w.wide("curate", "curate", rows)
	}, "6 by advantages"},
	{"singleton", "one member of 4 has a reward; of the twin 2", scores(func(rows []formats.Score, sick bool) {
		for i := range count4(sick) - 2 {
			unscore(&rows[i])
		}
	}), "one valid member"},
	{"singleton", "one member of 4 is valid in a group that is scattered", groupTables(func(_ []formats.Member, stats []formats.GroupStats, sick bool) {
		if stats[3].Valid = 2; sick {
			stats[3].Valid = 1
		}
	}), "one valid member"},
	{"mixed_prompts", "a member was asked another question; the twin's was asked more later", rollout(small, func(rows []formats.Trajectory, sick bool) {
		if sick {
			rows[1].Messages[0].Content += "?"
		}
	}), "different first prompts"},
	{"unread_mask", "an import kept an answer's mask", kept(`{"message_fields":{"2":{"own_mask":true}}}`, `{"message_fields":{"2":{"own_mask":0}}}`), "own_mask"},
	{"unread_content", "a message says something in a member that is not read; the twin's says it in its text, too",
		rollout(small, func(rows []formats.Trajectory, sick bool) {
			rows[3].Attempts, rows[3].Metadata = 0, `{"message_fields":{"0":{"elsewhere":["a text"]}}}`
			if sick {
				rows[3].Messages[0].Content = ""
			}
		}), "elsewhere"},
	{"no_arguments", "a call has no arguments", kept(`{"message_fields":{"2":{"tool_calls":[{"x":1}]}}}`,
		`{"message_fields":{"2":{"tool_calls":[{"name":"f","arguments":null}]}}}`), "tool_calls"},
	{"unread_history", "earlier turns are in a column", kept(`{"history":[]}`, `{"history":[["earlier question","earlier answer"]]}`), "history"},
	{"prefix_rows", "the rows of a group are one attempt's calls; in the twin two of them are",
		rollout(small, func(rows []formats.Trajectory, sick bool) {
			for i := range 3 {
				n := 3 - i
				if !sick {
					n = max(n, 2)
				}
				r := &rows[i]
				call, messages := r.Calls[0], r.Messages
				r.Messages, r.Calls, r.SampledTokens, r.PromptTokens, r.CompletionTokens = nil, nil, 0, 0, 0
				var before int
				for k, m := range rows[3].Messages[:2] {
					r.Messages = append(r.Messages, formats.Message{Parent: int32(k - 1), Role: m.Role, Content: m.Content, Call: -1})
				}
				for k := range n {
					answer := messages[2]
					answer.Parent, answer.Call, answer.ToolCalls, answer.Content, answer.FinishReason = int32(len(r.Messages)-1), int32(k), nil, "more", "stop"
					r.Messages = append(r.Messages, answer, formats.Message{Parent: int32(len(r.Messages)), Role: "user", Content: "more", Call: -1})
					before += len(answer.PromptDeltaIDs)
					call.PromptTokens, call.CompletionTokens = int32(before), int32(len(answer.TokenIDs))
					before += len(answer.TokenIDs)
					r.Calls = append(r.Calls, call)
					r.PromptTokens += call.PromptTokens
					r.CompletionTokens += call.CompletionTokens
					r.SampledTokens += call.CompletionTokens
				}
				r.Messages = r.Messages[:len(r.Messages)-1]
			}
		}), "calls of an attempt"},
	{"same_answers", "in 3 of 10 groups all answered the same; in the twin 2, and some said nothing",
		rollout(small, func(rows []formats.Trajectory, sick bool) {
			for i := range rows {
				switch group := i / 4; {
				case group < count4(sick)-2:
					rows[i].Answer = "the same"
				case group > 7 && i%4 < 2:
					rows[i].Answer = ""
				}
			}
		}), "answered the same"},
	{"prefix_breaks", "a template renders the same messages differently",
		spoiled(func(rows []formats.Trajectory) { rows[3].Messages[2].PrefixBreak = "template" }), "1 template"},
	{"no_tools", "a call was made without tools", spoiled(func(rows []formats.Trajectory) { withTools(rows).Calls[0].Tools = -1 }), "lost the definitions"},
	{"foreign_calls", "a simulated user calls a tool", spoiled(func(rows []formats.Trajectory) {
		rows[0].Messages[0].ToolCalls = []formats.ToolCall{{ID: "u", Name: "toggle", Arguments: "{}"}}
	}), "no chat template shows"},
	{"unanswered_calls", "a tool's answer became the user's", spoiled(func(rows []formats.Trajectory) { withTools(rows).Messages[3].Role = "user" }),
		"lost the answers"},
	{"unanswered_calls", "two tools were called and one answered", spoiled(func(rows []formats.Trajectory) {
		m := &withTools(rows).Messages[2]
		m.ToolCalls = append(slices.Clone(m.ToolCalls), m.ToolCalls[0])
	}), "lost the answers"},
	{"models", "another model answered", spoiled(func(rows []formats.Trajectory) { rows[3].Calls[0].Model = "other" }), "1 other"},
	{"models", "a group has two policy versions", spoiled(func(rows []formats.Trajectory) { rows[3].PolicyVersion = number(int64(1)) }),
		"several policy versions"},
	{"stale", "a group is 5 versions old; the twin 4", rollout(small, func(rows []formats.Trajectory, sick bool) {
		for i := range rows {
			if rows[i].PolicyVersion = number(int64(9)); i < 4 {
				rows[i].PolicyVersion = number(int64(9 - count4(sick)))
			}
		}
	}), "before 9"},
	{"branches", "a prompt was asked again", spoiled(func(rows []formats.Trajectory) { rows[3].Messages[2].Branch = "retry" }), "1 retry"},
	{"truncated_scored", "an attempt that was cut off has a reward", spoiled(func(rows []formats.Trajectory) {
		rows[3].Status, rows[3].StopReason = outcomes.StatusTruncated, outcomes.StopLength
	}), "cut off"},
	{"length", "reward is paid by the token", scores(func(rows []formats.Score, sick bool) {
		for i, t := range trajectories(small) {
			if sick {
				rows[i].Reward = number(1 - float64(t.SampledTokens)/1000)
			}
		}
	}), "against length: correlation -1.00"},
}

// count4 returns 4, or 5 for a dataset with the fault.
func count4(sick bool) int {
	if sick {
		return 5
	}
	return 4
}

func bare(o randomtest.Options) randomtest.Options {
	o.Scored = false
	return o
}

// sampledBy sets the sampling settings of one call.
func sampledBy(settings string) func([]formats.Trajectory) {
	return func(rows []formats.Trajectory) { rows[3].Calls[0].Sampling = settings }
}

func sampledAs(well, sick string) func([]formats.Trajectory, bool) {
	return func(rows []formats.Trajectory, isSick bool) {
		if rows[3].Calls[0].Sampling = well; isSick {
			rows[3].Calls[0].Sampling = sick
		}
	}
}

// kept returns a rollout with a row that an importer made, whose metadata has what it kept.
func kept(well, sick string) scenario {
	return rollout(small, func(rows []formats.Trajectory, isSick bool) {
		rows[3].Attempts = 0
		if rows[3].Metadata = well; isSick {
			rows[3].Metadata = sick
		}
	})
}
