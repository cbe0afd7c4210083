package verifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/process"
)

const testsPath = "/tests"

// Verdict is what tests say.
type Verdict struct {
	Reward  *float64           // the one that is named so, or the only one; nil: none is the task's own
	Rewards map[string]float64 // all, by name
}

// Verify calls keep with the programs that the agent left, ends them, and judges what it did. Among the rewards are
// facts about the container.
func (b *Box) Verify(ctx context.Context, keep func(left []string) error) (Verdict, error) {
	left, notes, err := b.settle(ctx, keep)
	if err != nil {
		return Verdict{}, err
	}
	v, err := b.Judge(ctx, left)
	if err == nil {
		maps.Copy(v.Rewards, notes)
	} else if len(left) > 0 {
		err = fmt.Errorf("%w; if the task asks for a running program, use --keep-processes", err)
	}
	return v, err
}

// Judge copies the tests into a container in which nothing else runs, runs them and reads
// the rewards. Left are the programs that were ended before, which the tests do not find.
// The tests' exit code says nothing, as in Harbor.
func (b *Box) Judge(ctx context.Context, left []string) (v Verdict, err error) {
	env, err := b.Variables.Resolve(ctx, b.Task, "verifier")
	if err != nil {
		return v, err
	}
	tail := process.NewTail(ctx, containers.Quoted)
	run := func(user, script string, env []string) error {
		_, err := b.Exec(ctx, b.Task.Verifier.Timeout, containers.Exec{Words: []string{"sh", "-c", script}, Env: env, User: user,
			Output: io.MultiWriter(tail, &b.Printed, b.Log)})
		return err
	}
	folder := filepath.Join(b.Dir, "verifier")
	// Not before: what the agent left running would make its own tests, which a copy leaves where they are.
	if err := run("0", "rm -rf "+testsPath+" /logs/verifier/"+harbor.RewardJSON+" /logs/verifier/"+harbor.RewardText, nil); err != nil {
		return v, err
	}
	if err := harbor.NoRewards(folder); err != nil {
		return v, err
	}
	if err := b.CopyIn(ctx, b.Name, b.Task.TestsDir(), testsPath); err != nil {
		return v, err
	}
	script := path.Join(testsPath, harbor.TestScript)
	if err := run("0", "chmod +x "+script, nil); err != nil {
		return v, err
	}
	if err := run(b.Task.Verifier.User, script, env); err != nil {
		return v, err
	}
	rewards, err := harbor.Rewards(folder)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, tail)
	} else if changed := b.unchanged(ctx); changed != nil {
		return v, changed
	} else if v = verdict(rewards); len(left) > 0 && (v.Reward == nil || *v.Reward < 1) {
		err = fmt.Errorf("their rewards are %v", rewards)
	}
	if len(left) > 0 && err != nil {
		err = missed(left, err)
	}
	return v, err
}

// verdict returns the rewards that tests left.
func verdict(rewards map[string]float64) (v Verdict) {
	for name, n := range rewards {
		if name == harbor.Total || len(rewards) == 1 {
			v.Reward = &n
		}
	}
	delete(rewards, "tampered") // it is said here, see settle
	delete(rewards, "processes_left")
	v.Rewards = rewards
	return v
}

// unchanged compares the tests in the container with the task's: an agent that left a
// process behind, or that kept the copy from replacing its own, changed its judge.
func (b *Box) unchanged(ctx context.Context) error {
	files, err := b.Task.Tests()
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
