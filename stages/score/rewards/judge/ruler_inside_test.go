package judge

import (
	"testing"
)

// FuzzRead: whatever a judge writes ends in one score from 0 to 1 for each
// trajectory, or in an error.
func FuzzRead(f *testing.F) {
	f.Add(`{"scores":[{"trajectory_id":"t1","score":0.5},{"trajectory_id":"t2","score":1}]}`, false)
	f.Add(`{"scores":[{"trajectory_id":"t1","score":-7},{"trajectory_id":"t2","score":1e300}]}`, true)
	f.Add(`<think>{"scores":[</think>{"scores":[{"trajectory_id":"t1"}]`, true)
	b := newBallot([][]string{{`{"a":1}`, `{"b":1}`}, {`{"a":1}`, `{"b":2}`}, {`{"a":1}`, `{"b":1}`}}, "")
	f.Fuzz(func(t *testing.T, text string, clamp bool) {
		scores, err := b.read(&Panel{Clamp: clamp}, 3, text)
		if err != nil {
			return
		}
		if len(scores) != 2 {
			t.Fatalf("%q gave %v", text, scores)
		}
		for _, s := range scores {
			if !(s.Score >= 0 && s.Score <= 1) {
				t.Errorf("%q gave %v", text, scores)
			}
		}
	})
}
