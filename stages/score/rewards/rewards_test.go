package rewards

import (
	"testing"

	"github.com/rollmill/rollmill/stages/plugin/plugintest"
)

func TestEveryRewardConforms(t *testing.T) {
	plugintest.Tested(t, "rewards.go", len(All.Names()), `rewardtest\.Suite\{Kind: \w+\.%s\b`)
}
