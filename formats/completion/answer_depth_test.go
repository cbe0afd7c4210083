package completion

import (
	"strings"
	"testing"
)

// A deeply nested answer is refused: a stack that overflows cannot be recovered.
func TestNestedAnswersAreBounded(t *testing.T) {
	for _, open := range []string{`{"choices":[`, `{"choices":[{"delta":[`, `{"choices":[{"logprobs":{"content":[{"logprob":[`} {
		if _, err := new(Answer).Add([]byte(open+strings.Repeat(`{"a":[`, 4<<20)), View{}); err == nil {
			t.Errorf("four million lists in each other are accepted after %s", open)
		}
	}
}
