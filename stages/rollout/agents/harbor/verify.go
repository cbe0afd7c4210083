package harbor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/process"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

const testsPath = "/tests"

// verify ends what the agent left, copies the tests in, runs them and reads the rewards.
// Their exit code says nothing, as in Harbor.
func (b *box) verify(ctx context.Context, result agents.Result) (agents.Result, error) {
	wrong := func(err error) (agents.Result, error) {
		return agents.Result{}, failed(ctx, outcomes.FailVerifier, fmt.Errorf("the verifier: %w", err))
	}
	env, err := b.resolve(ctx, b.task, "verifier")
	if err != nil {
		return wrong(err)
	}
	tail := process.NewTail(ctx, quoted)
	run := func(user, script string, env []string) error {
		_, err := b.exec(ctx, b.task.Verifier.Timeout, Exec{Words: []string{"sh", "-c", script}, Env: env, User: user,
			Output: io.MultiWriter(tail, &b.printed, b.log)})
		return err
	}
	folder := filepath.Join(b.dir, "verifier")
	left, notes, err := b.settle(ctx)
	if err != nil {
		return wrong(err)
	}
	// Not before: what the agent left running would make its own tests, which a copy leaves where they are.
	if err := run("0", "rm -rf "+testsPath+" /logs/verifier/"+harbor.RewardJSON+" /logs/verifier/"+harbor.RewardText, nil); err != nil {
		return wrong(err)
	}
	if err := harbor.NoRewards(folder); err != nil {
		return wrong(err)
	}
	if err := b.runtime.CopyIn(ctx, b.name, b.task.TestsDir(), testsPath); err != nil {
		return wrong(err)
	}
	script := path.Join(testsPath, harbor.TestScript)
	if err := run("0", "chmod +x "+script, nil); err != nil {
		return wrong(err)
	}
	if err := run(b.task.Verifier.User, script, env); err != nil {
		return wrong(err)
	}
	rewards, err := harbor.Rewards(folder)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, tail)
	} else if err = b.unchanged(ctx); err != nil {
		return wrong(err)
	}
	if err == nil {
		result = b.rewarded(result, rewards)
	}
	switch {
	case len(left) > 0 && err != nil:
		return wrong(missed(left, err))
	case err != nil:
		return wrong(err)
	case len(left) > 0 && (result.Reward == nil || *result.Reward < 1):
		return wrong(missed(left, fmt.Errorf("their rewards are %v", rewards)))
	}
	maps.Copy(result.Rewards, notes)
	return result, nil
}

// rewarded adds the rewards to what the harness left.
func (b *box) rewarded(result agents.Result, rewards map[string]float64) agents.Result {
	if total, ok := rewards[harbor.Total]; ok {
		result.Reward = &total
	} else if len(rewards) == 1 {
		for _, only := range rewards {
			result.Reward = &only
		}
	}
	delete(rewards, "tampered") // it is said here, see settle
	delete(rewards, "processes_left")
	result.Rewards = rewards
	result.Metadata, _ = json.Marshal(map[string]string{"task_digest": b.task.Digest})
	return result
}

// unchanged compares the tests in the container with the task's: an agent that left a
// process behind, or that kept the copy from replacing its own, changed its judge.
func (b *box) unchanged(ctx context.Context) error {
	files, err := b.task.Tests()
	if err != nil {
		return err
	}
	limit := int64(1 << 20)
	for _, f := range files {
		limit += f.Size + 4096
	}
	archive, stop := b.archive(ctx, testsPath, limit+10<<20)
	defer stop()
	for len(files) > 0 {
		h, err := archive.Next()
		if err != nil {
			return errors.Join(fmt.Errorf("its tests changed while they judged: %s is gone", files[0].Name), err)
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/"+path.Base(testsPath)+"/")
		i := slices.IndexFunc(files, func(f harbor.File) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		sum, err := harbor.Sum(archive)
		if err != nil || sum != files[i].Sum {
			return fmt.Errorf("its tests changed while they judged: %s", name)
		}
		files = slices.Delete(files, i, i+1)
	}
	return nil
}
