package rollout

import (
	"fmt"
	"syscall"

	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// otherFiles is about how many files a rollout opens beside its attempts'.
const otherFiles = 64

// checkFiles refuses more trajectories at once than this process can open files
// for, before any is paid for. left is how many are to be made. Go's runtime has
// raised the limit as far as the system lets it.
func (o Options) checkFiles(left int64) error {
	each := o.filesEach()
	limit, known := fileLimit()
	open := min(int64(o.atOnce()), left)
	if need := open*each + otherFiles; known && each > 0 && need > limit {
		fit := max(1, (limit-otherFiles)/each)
		return agents.Usage(fmt.Sprintf("--concurrency %d, or raise the limit: ulimit -Hn %d before the command, LimitNOFILE of a "+
			"systemd unit, --ulimit nofile of a container", fit, need),
			"%d trajectories at once need about %d open files, and this process may open %d", open, need, limit)
	}
	return nil
}

func (o Options) filesEach() int64 {
	if o.agent.OpenFiles == 0 && o.asksEngine() {
		return 2
	}
	return int64(o.agent.OpenFiles)
}

// fileLimit returns how many files this process may open.
func fileLimit() (n int64, known bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<62 {
		return 0, false
	}
	return int64(limit.Cur), true
}
