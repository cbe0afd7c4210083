// Package harbor gets rewards from the tests of Harbor tasks, run again on the workspaces that
// rollout --keep-workspace kept: harbor:tasks,repeat=3. A row's task is the one in the folder with
// the name of its example, as it is now. The workspace is restored in a fresh container of the
// attempt's image, which is isolated as attempts are. The reward is the tests' total; what they
// printed is its reason. Their other rewards are left out: no task names them before it runs.
//
// A row whose workspace was not kept, is not whole or cannot be restored, whose image is gone or
// whose tests leave no reward has no value. Rewards are stored with the answers of judges.
package harbor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/stages/internal/containers/verifier"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

var Kind = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "harbor",
	Help: "run the tests of Harbor tasks again, on the workspaces that rollout --keep-workspace kept",
	New:  func() score.RewardSettings { return &Settings{Repeat: 1, Runtime: "podman"} },
}}

type Settings struct {
	Tasks   string
	Repeat  int
	Runtime string
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.Tasks, "tasks", "run the tests of the task folders at this local `PLACE`").FirstInSpec()
	d.Int(&s.Repeat, "repeat", "run the tests `N` times, each in a fresh container; runs that differ give no reward, "+
		"and NAME_flaky is the share of them that differ from most")
	d.String(&s.Runtime, "runtime", "run containers with this `PROGRAM`, as rollout --runtime does").LastInSpec()
}

// Reward reads the tasks.
func (s *Settings) Reward(setup score.Setup) (score.Reward, error) {
	switch {
	case s.Tasks == "":
		return nil, errors.New("name the folder of the tasks, as in harbor:tasks")
	case s.Repeat < 1 || s.Repeat > 1000:
		return nil, fmt.Errorf("repeat=%d is not from 1 to 1000", s.Repeat)
	}
	folders, err := harbor.Find(s.Tasks)
	if err != nil {
		return nil, err
	}
	r := &reward{Setup: setup, Settings: *s, tasks: map[string]harbor.Task{}}
	r.slots = semaphore.NewWeighted(int64(max(setup.Concurrency, 1)))
	r.start, r.open = sync.OnceValue(r.startMachine), sync.OnceValue(r.openKept)
	if setup.Partial { // nobody asks for their digests
		return r, nil
	}
	wanted, digests := verifier.Wanted{}, map[string]string{}
	for _, folder := range folders {
		t, err := harbor.Read(folder)
		if err != nil {
			return nil, err
		}
		files, err := t.Tests()
		if err != nil {
			return nil, err
		}
		if other, twice := r.tasks[t.Name]; twice {
			return nil, fmt.Errorf("%s and %s are both named %q", other.Dir, t.Dir, t.Name)
		}
		t.Digest = formats.JSONDigest([]any{t.Digest, files}) // it leaves caches out, which the container gets, too
		r.tasks[t.Name], digests[t.Name] = t, t.Digest
		wanted.Add(setup.TaskEnv, t, "environment", "verifier")
	}
	r.digest = formats.JSONDigest(digests)
	return r, wanted.Err(func(text string) { setup.Log.Warn(text, "reward", setup.Name) })
}

type reward struct {
	score.Setup
	Settings
	tasks   map[string]harbor.Task // by name, with digests of all that decides their rewards
	digest  string                 // of all tasks
	slots   *semaphore.Weighted
	start   func() error // opens machine, once
	machine verifier.Tasks
	open    func() error        // opens kept, once
	kept    *workspaces.Dataset // empty: none were kept
}

func (r *reward) startMachine() (err error) {
	r.machine.Variables = r.TaskEnv
	if r.machine.Relay, err = containers.RelayBinary("score on Linux"); err == nil {
		r.machine.Machine, err = containers.Open(context.Background(), r.Runtime)
	}
	return err
}

func (r *reward) openKept() (err error) {
	r.kept = &workspaces.Dataset{}
	if r.Base != nil && r.Base.Tables[schema.TableWorkspaces].Rows > 0 && !r.Base.Removed(schema.TableWorkspaces) {
		r.kept, err = workspaces.Open(context.Background(), r.Base)
	}
	return err
}

func (r *reward) Describe() score.Description {
	d := score.Description{Detail: score.Head, Columns: []string{},
		Digests: map[string]string{"harbor:" + r.Tasks: r.digest},
		Start:   func(context.Context) error { return r.start() }}
	for _, t := range r.tasks {
		d.Unmetered = d.Unmetered || !t.Environment.NoNetwork
	}
	if r.Repeat > 1 {
		d.Parts = []string{"flaky"}
	}
	return d
}

// Score verifies as many rows at once as the stage scores batches, and as memory allows.
func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	if err := cmp.Or(context.Cause(ctx), r.open()); err != nil {
		return err
	}
	return score.EachRow(ctx, rows, values, -1, r.value)
}

// Close removes the containers that are left.
func (r *reward) Close() error {
	if r.machine.Machine == nil {
		return nil
	}
	return r.machine.Close()
}
