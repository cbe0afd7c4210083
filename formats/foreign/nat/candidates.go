package nat

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
)

// Candidates adds the scored alternatives to a row, as NAT's test-time compute
// logs them. The messages of the row are known; the message to which a turn's
// candidates were alternatives is the answer that one of them became.
func Candidates(t *formats.Trajectory, steps []Step) {
	for i := range steps {
		if s := &steps[i]; s.Kind == "TTC_END" {
			content, _ := stepText(s.Data.Output)
			more, _ := json.Marshal(map[string]any{"step": s.Name, "input": s.Data.Input, "turn_index": s.Data.TurnIndex,
				"candidate_index": s.Data.CandidateIndex})
			t.Candidates = append(t.Candidates,
				formats.Candidate{Message: -1, Turn: s.Data.TurnID, Content: content, Score: s.Data.Score,
					Metadata: string(more)})
		}
	}
	settle(t)
}

func settle(t *formats.Trajectory) {
	chosen := map[string]int32{}
	for _, c := range t.Candidates {
		for i := range t.Messages {
			if m := &t.Messages[i]; m.Sampled && m.Content == c.Content {
				if _, known := chosen[c.Turn]; !known {
					chosen[c.Turn] = int32(i)
				}
			}
		}
	}
	for i := range t.Candidates {
		if at, known := chosen[t.Candidates[i].Turn]; known {
			t.Candidates[i].Message = at
		}
	}
}
