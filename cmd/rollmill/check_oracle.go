package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/agents/harbor"
	"github.com/rollmill/rollmill/storage/fault"
)

// solutions are the settings of a check of Harbor tasks by their solutions.
type solutions struct {
	Examples string
	Times    int
	Runtime  string
	TaskEnv  []string
	Keep     bool
}

func (c *solutions) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.Int(&c.Times, "oracle", "run the solution of each Harbor task of --examples `N` times, without a model").Min(1).
		DefaultShown("not at all")
	d.String(&c.Examples, "examples", "with --oracle, read the tasks at this `URI`: harbor:DIR").WrittenToRows()
	d.Heading(plugin.Execution)
	d.String(&c.Runtime, "runtime", "with --oracle, run containers with this `PROGRAM`, as agent harbor does")
	harbor.DeclareTaskEnv(d, &c.TaskEnv)
	harbor.DeclareKeepProcesses(d, &c.Keep)
}

// solved is what a task's solution got, as --json prints it.
type solved struct {
	Task    string    `json:"task"`
	Rewards []float64 `json:"rewards"` // of the runs that got one
	Errors  []string  `json:"errors,omitempty"`
	Seconds float64   `json:"seconds"` // of one run
}

// flaky reports whether the runs differ.
func (t solved) flaky() bool {
	return len(t.Errors) > 0 && len(t.Rewards) > 0 || len(slices.Compact(slices.Clone(t.Rewards))) > 1
}

func (t solved) state() string {
	switch {
	case t.flaky():
		return "flaky"
	case len(t.Errors) > 0:
		return "failed"
	case t.Rewards[0] <= 0:
		return "unsolved"
	}
	return "ok"
}

// check runs every solution, one after the other. A task whose solution fails, gets
// nothing, or not the same each time, is an error.
func (c *solutions) check(ctx context.Context, s *cli.Session) error {
	if c.Times < 1 || !strings.HasPrefix(c.Examples, "harbor:") {
		return cli.Usagef("rollmill check --examples harbor:DIR --oracle 3", "--oracle %d needs a number and Harbor tasks", c.Times)
	}
	oracle := harbor.Settings{Runtime: c.Runtime, Harness: harbor.Shell, TaskEnv: c.TaskEnv, KeepProcesses: c.Keep}
	agent, err := oracle.Agent(ctx, agents.Setup{Lookup: s.Lookup})
	if err != nil {
		return err
	}
	defer agent.Close()
	all, _, err := (&settings.TaskFile{Examples: c.Examples}).Read(ctx, s, agent)
	if err != nil {
		return err
	}
	var list []solved
	var bad []string
	for i := range all.Len() {
		e, err := all.At(i)
		if err != nil {
			return err
		}
		t, err := c.solve(ctx, agent.(solver), e)
		if err != nil {
			return err
		}
		if list = append(list, t); t.state() != "ok" {
			bad = append(bad, t.Task)
		}
	}
	err = s.Print(map[string][]solved{"tasks": list}, func(w io.Writer) error { return writeSolved(w, list) })
	if len(bad) > 0 {
		err = errors.Join(err, fault.Invalid(c.Examples, "leave them out, or mend their solution or tests", nil,
			"%d of %d tasks do not reward their solution each time: %s", len(bad), len(list), strings.Join(bad, ", ")))
	}
	return err
}

// solver is an agent that can run a task's own solution.
type solver interface {
	Solve(ctx context.Context, e formats.Example) (agents.Result, error)
}

func (c *solutions) solve(ctx context.Context, agent solver, e formats.Example) (solved, error) {
	t, began := solved{Task: e.ID}, time.Now()
	for range c.Times {
		result, err := agent.Solve(ctx, e)
		switch {
		case ctx.Err() != nil:
			return t, ctx.Err()
		case err == nil && result.Reward == nil:
			rewards, _ := json.Marshal(result.Rewards)
			err = fmt.Errorf("no reward of %s is its total", rewards)
		}
		if err != nil {
			t.Errors = append(t.Errors, err.Error())
			continue
		}
		t.Rewards = append(t.Rewards, *result.Reward)
	}
	t.Seconds = time.Since(began).Seconds() / float64(c.Times)
	return t, nil
}

func writeSolved(w io.Writer, list []solved) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range list {
		fmt.Fprintf(table, "%s\t%s\t%v\t%.1f s\t%s\n", t.state(), t.Task, t.Rewards, t.Seconds, strings.Join(t.Errors, "; "))
	}
	return table.Flush()
}
