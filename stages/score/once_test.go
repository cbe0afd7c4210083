package score_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/score"
)

// TestEachRowIsSentOnce, also the one on which a program is tried, and the first of two
// answers counts.
func TestEachRowIsSentOnce(t *testing.T) {
	const in = "mem://once/rollout"
	base(t, in, trajectories())
	sent := filepath.Join(t.TempDir(), "sent")
	o := options(t, in, in+"-score", "command:"+words("twice "+sent))
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	if _, err := score.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	asked, err := os.ReadFile(sent)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for id := range strings.Lines(string(asked)) {
		if seen[id]++; seen[id] > 1 {
			t.Errorf("%s was sent again", strings.TrimSpace(id))
		}
	}
	scores, _ := rows(t, in+"-score")
	for _, s := range scores {
		if s.Reward != nil && *s.Reward != 1 {
			t.Errorf("row %s has the reward %v", s.TrajectoryID, *s.Reward)
		}
	}
	if len(seen) == 0 || strings.Count(log.String(), "answers twice for one id") != 1 {
		t.Errorf("%d rows were sent; log: %s", len(seen), log.String())
	}
}
