package catalogue

import "testing"

// TestFinished: an extended epoch's datasets are the extension's; its receipt is the extension's, or else its own.
func TestFinished(t *testing.T) {
	found := []*Entry{{Stage: "submit", Receipt: true, Key: "own"}}
	for _, stage := range []string{"rollout", "score", "extended/rollout", "extended/score"} {
		found = append(found, &Entry{Stage: stage, Complete: true, Key: stage})
	}
	got := Finished(found)
	if got["score"].Key != "extended/score" || got["submit"] == nil || got["submit"].Key != "own" || len(got) != 3 {
		t.Errorf("%+v", got)
	}
	if got = Finished(append(found, &Entry{Stage: "extended/submit", Receipt: true, Key: "last"})); got["submit"].Key != "last" {
		t.Errorf("the receipt of %s", got["submit"].Key)
	}
}
