package serve

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// TestDiff checks what moved between two datasets of scores, and which component did.
func TestDiff(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	scores := scoredEpoch(t, root, func([]formats.Trajectory) {})
	up, down, compared := 0, 0, 0
	for i, s := range scores {
		if s.Reward == nil {
			continue
		}
		compared++
		if (i+1)%10 == 0 {
			if style := *s.Rewards[1].Value; style < 0.125 {
				up++
			} else {
				down++
			}
		}
	}
	b := reads(t, root)
	for _, path := range []string{"/diff", "/diff?a=epoch-0%2Fscore"} { // leads to the two that differ
		b.has(b.page(path), `<option value="epoch-0/score" selected>`, `<option value="epoch-0/score-2" selected>`,
			fmt.Sprintf("%d of %d trajectories moved", up+down, compared))
	}
	page := b.page("/diff?a=epoch-0%2Fscore&b=epoch-0%2Fscore-2")
	b.has(page, fmt.Sprintf("%d of %d trajectories moved", up+down, compared), "style</a>",
		fmt.Sprintf(">%d</td><td>%d</td><td>%d</td><td>%d</td>", compared, up+down, up, down),
		"solved</a>", fmt.Sprintf(">%d</td><td>0</td>", compared), "/d/epoch-0%2Fscore-2/t/", "<div>style 0.", " → 0.125</div>")
	b.has(b.page("/diff?a=epoch-0%2Fscore&b=epoch-0%2Fscore-2&reward=solved"), fmt.Sprintf("Reward solved: 0 of %d trajectories moved", compared), "None.")
	b.get("/diff?a=epoch-0%2Fscore&b=nothing", http.StatusNotFound)
	b.get("/diff?a=epoch-0%2Fscore&b=epoch-0%2Frollout", http.StatusUnprocessableEntity)
	b.get("/diff?a=epoch-0%2Fscore&b=epoch-0%2Fscore-2&reward=none", http.StatusUnprocessableEntity)
}
