package chat

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAPromptGoesOnWithTheEndOfAnAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ids := func() (list []int32) {
		for range random.IntN(7) {
			list = append(list, random.Int32N(3))
		}
		return list
	}
	for range 3000 {
		answer, prompt := ids(), ids()
		want := false
		for i := range answer {
			end := answer[i:]
			want = want || len(end) <= len(prompt) && slices.Equal(end, prompt[:len(end)])
		}
		if shortened(answer, prompt) != want {
			t.Fatalf("%v after %v: not %v", prompt, answer, want)
		}
	}
}
