package rollout

import (
	"fmt"
	"syscall"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage/fault"
)

// checkLimits refuses limits that could not be enforced.
func (o Options) checkLimits() error {
	if (o.MaxCalls > 0 || o.MaxTokens > 0) && !o.asksEngine() {
		return agents.Usage("limit the calls where the agent makes them",
			"--max-calls and --max-tokens-per-trajectory limit calls that pass the recording proxy, and those of "+
				"agent %s do not", o.agent.Kind)
	}
	return nil
}

func (o Options) noExamples() error {
	return fault.Invalid(o.ExamplesRef.URI, "is it the right file, and do --allow and --deny leave any?", nil,
		"there is no example in it")
}

// announce reports the number of attempts before any is paid for.
func (o Options) announce(d *done, left int64) {
	text := fmt.Sprintf("%s to make: %s", plural.Of(left, "attempt"), plural.Of(d.tasks.Len(), "example"))
	if d.tasks.Each > 0 {
		text += fmt.Sprintf(", %s each", plural.Of(d.tasks.Each, "generation"))
	}
	if before := d.tasks.Attempts() - left; before > 0 {
		text += fmt.Sprintf("; %d made before", before)
	}
	o.Logger().Info(text)
}

// fit turns a trajectory that no dataset can hold into a failed row, so that
// the others are kept and it is not attempted, and paid for, again and again.
func fit(t *formats.Trajectory) {
	if Weight(t) < parquet.MaxColumnBytes { // of all columns together
		return
	}
	column, n := parquet.Oversize(t)
	if column == "" {
		return
	}
	Fail(t, outcomes.StopError, outcomes.FailTooLarge,
		fmt.Sprintf("column %s has %d bytes in %d messages, and a dataset holds at most %d in one row; let the agent send "+
			"less, such as fewer or smaller images",
			column, n, len(t.Messages), parquet.MaxColumnBytes))
	t.Messages, t.Candidates, t.Answer, t.SampledTokens, t.TokenSource = nil, nil, "", 0, ""
	if column, _ = parquet.Oversize(t); column != "" { // of calls, tools or metadata
		t.Calls, t.ToolSets, t.Metadata, t.PromptTokens, t.CompletionTokens = nil, nil, "", 0, 0
	}
}

// otherFiles is about how many files a rollout opens beside its attempts'.
const otherFiles = 64

// checkFiles refuses more trajectories at once than this process can open files
// for, before any is paid for. left is how many are to be made. Go's runtime has
// raised the limit as far as the system lets it.
func (o Options) checkFiles(left int64) error {
	each := int64(o.agent.OpenFiles)
	if each == 0 && o.asksEngine() {
		each = 2
	}
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

// fileLimit returns how many files this process may open.
func fileLimit() (n int64, known bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<62 {
		return 0, false
	}
	return int64(limit.Cur), true
}
