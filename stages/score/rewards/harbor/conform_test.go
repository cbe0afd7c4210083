package harbor_test

import (
	"testing"

	"github.com/rollmill/rollmill/stages/score/rewards/harbor"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

func TestConforms(t *testing.T) {
	const tasks = "../../../../testdata/harbor/tasks"
	rewardtest.Run(t, rewardtest.Suite{Kind: harbor.Kind, Arguments: tasks + ",repeat=2"})
}
