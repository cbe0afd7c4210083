package rewards_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

// TestPythonExample: the service that testdata/rewards shows keeps the suite.
func TestPythonExample(t *testing.T) {
	cmd := exec.Command("python3", "../../../testdata/rewards/http_reward.py", "0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no python3")
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	rewardtest.Run(t, rewardtest.Suite{Kind: rewards.HTTP, Arguments: url})
	rows := rewardtest.Rows()
	rows[1].Answer = strings.Repeat("x", 100)
	for i, v := range rewardtest.Score(t, made(t, url, time.Minute), rows) {
		if v.Failure != "" || v.Reward != map[bool]float64{true: 0, false: 1}[i == 1] {
			t.Errorf("row %d is %+v", i, v)
		}
	}
}
