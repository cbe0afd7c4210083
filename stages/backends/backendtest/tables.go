package backendtest

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats"
)

// Tables returns the tables of Batch: for each group three pairs, the best against both of the
// worst first, and labels, one in four of which is desirable.
func Tables() formats.Tables {
	var pairs []formats.Pair
	var labels []formats.Label
	for rows := range Batch() {
		for _, p := range [][2]int{{3, 0}, {3, 1}, {2, 0}} {
			pairs = append(pairs, PairOf(rows, p[0], p[1]))
		}
		for i := range rows {
			t := &rows[i]
			labels = append(labels, formats.Label{
				TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, GroupID: t.GroupID, Epoch: t.Epoch,
				Generation: t.Generation,
				Desirable:  *t.Reward >= 1, Reward: *t.Reward, Prompt: Chat(t.Messages[:1]...),
				Completion: Chat(t.Messages[1:]...),
			})
		}
	}
	return TablesOf(pairs, labels)
}

// TablesOf returns tables of these rows.
func TablesOf(pairs []formats.Pair, labels []formats.Label) formats.Tables {
	return formats.Tables{Pairs: sound(slices.Values(pairs)), Labels: sound(slices.Values(labels))}
}

func sound[T any](rows iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// PairOf returns the pair of two rows that differ after their first message.
func PairOf(rows []formats.Trajectory, better, worse int) formats.Pair {
	a, b := &rows[better], &rows[worse]
	return formats.Pair{
		ExampleID: a.ExampleID, GroupID: a.GroupID, Epoch: a.Epoch, ChosenID: a.TrajectoryID, RejectedID: b.TrajectoryID,
		ChosenIndex: 1, RejectedIndex: 1,
		ChosenScore: *a.Reward, RejectedScore: *b.Reward, Margin: *a.Reward - *b.Reward,
		Prompt: Chat(a.Messages[:1]...), Chosen: Chat(a.Messages[1:]...), Rejected: Chat(b.Messages[1:]...),
	}
}

// Chat returns messages in the form of pairs and labels.
func Chat(messages ...formats.Message) string {
	out := []map[string]any{}
	for _, m := range messages {
		c := map[string]any{"role": m.Role, "content": m.Content}
		if m.ContentParts != "" {
			c["content"] = json.RawMessage(m.ContentParts)
		}
		if m.ToolCallID != "" {
			c["tool_call_id"] = m.ToolCallID
		}
		var calls []any
		for _, x := range m.ToolCalls {
			calls = append(calls, map[string]any{"id": x.ID, "type": "function",
				"function": map[string]string{"name": x.Name, "arguments": x.Arguments}})
		}
		if calls != nil {
			c["tool_calls"] = calls
		}
		out = append(out, c)
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic("backendtest: " + err.Error())
	}
	return string(text)
}
