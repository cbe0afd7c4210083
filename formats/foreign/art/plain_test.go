package art

import (
	"bytes"
	"os"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
)

// ART's own parser and tokenizer are run on the groups of
// testdata/consumers/art/plain.jsonl by the script there.

const plainFile = "../../../testdata/consumers/art/plain.jsonl"

// TestPlainGroups: sampled messages are sent as text; rows need no token ids,
// and messages after the last sampled one are not sent.
func TestPlainGroups(t *testing.T) {
	one := exportGroup()
	turns := edit(func(r *formats.Trajectory) {
		r.Messages[2].Content = "d4 \"quoted\" \n é 日本 🙂"
		r.Messages = append(r.Messages, formats.Message{Parent: 2, Role: "user", Content: "and now?", Call: -1},
			sampled(3, 1, 30),
			formats.Message{Parent: 4, Role: "user", Content: "thanks", Call: -1},
			formats.Message{Parent: 5, Role: "assistant", Content: "not the policy's", Call: -1})
		r.Messages[4].Content = r.TrajectoryID
	})(exportGroup())
	branches := edit(func(r *formats.Trajectory) {
		m := sampled(3, 1, 40)
		m.Content = "of a sub-agent"
		r.Messages = append(r.Messages, formats.Message{Parent: -1, Role: "user", Content: "sub-agent", Call: -1}, m)
	})(exportGroup())
	bare := edit(func(r *formats.Trajectory) {
		r.Messages[2].TokenIDs, r.Messages[2].Logprobs, r.Messages[2].FinishReason = nil, nil, "abort"
	})(exportGroup())
	var got []byte
	for _, rows := range [][]formats.Trajectory{one, turns, branches, bare} {
		if why := reasons(rows, Limits{Plain: true}); why != nil {
			t.Errorf("%v", why)
		}
		got = append(AppendPlainGroup(got, rows), '\n')
	}
	for _, gone := range []string{"token_id", "logprobs", "finish_reason", "thanks", "not the policy's"} {
		if bytes.Contains(got, []byte(gone)) {
			t.Errorf("%s travels", gone)
		}
	}
	if *foreigntest.Update {
		if err := os.WriteFile(plainFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(plainFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is another (rewrite it with -update): %v", plainFile, err)
	}
}
