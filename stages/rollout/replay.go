package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
	"github.com/rollmill/rollmill/storage/fault"
)

// Replayed is what an agent does with the answers of recorded trajectories, without an engine.
type Replayed struct {
	In      string           `json:"in"`
	Rows    int64            `json:"rows"`
	Calls   int64            `json:"calls"` // recorded, of trajectories that did not fail
	Again   int64            `json:"calls_again"`
	Same    int64            `json:"same"`    // trajectories of which the agent made every call, and no other
	Skipped int64            `json:"skipped"` // failed, or with a call that had several answers: not replayed
	Causes  map[string]int64 `json:"causes"`  // of the others: a recorder.Diverged constant
	Differ  []Differing      `json:"differ"`  // in the order of the rows
}

// Differing is a trajectory that the agent does not repeat.
type Differing struct {
	TrajectoryID string `json:"trajectory_id"`
	ExampleID    string `json:"example_id"`
	Calls        int    `json:"calls"` // recorded
	Again        int    `json:"calls_again"`
	Cause        string `json:"cause"`
	Role         string `json:"role,omitempty"` // of the first message that differs; "" for none
	Was          string `json:"was"`            // it, in the recorded trajectory; "" if nothing is in its place
	Is           string `json:"is"`
	Error        string `json:"error,omitempty"` // of the agent
}

// Replay runs the agent on the recorded answers of the trajectories of in. Of o it uses the
// agent, Hide, Model, Concurrency and TrajectoryTimeout.
func Replay(ctx context.Context, o Options, in stages.Input) (*Replayed, error) {
	d, err := dataset.Open(ctx, in.URI, dataset.OpenOptions{Kind: schema.KindTrajectories, AcceptGates: in.AcceptGates})
	if err != nil {
		return nil, err
	}
	o = o.defaults()
	o.Out.URI = cmp.Or(o.Out.URI, in.URI) // the folders of attempts have the paths that they had
	defer os.Remove(o.workFolder())
	if seed, ok := d.Params["sampling_seed"].(json.Number); ok && o.SamplingSeed == nil {
		n, err := seed.Int64()
		if err != nil {
			return nil, fault.Invalid(d.URI(), "", err, "its sampling seed is no whole number")
		}
		o.SamplingSeed = &n
	}
	if !o.asksEngine() {
		return nil, agents.Usage("name an agent that asks a model", "this agent asks no engine, so nothing can be replayed")
	}
	defer o.CloseAgent()
	rec, err := recorder.New(recorder.Options{Settings: engines.Settings{Endpoints: []string{"http://127.0.0.1/none"}, Log: o.Logger()},
		Defaults: apis.Defaults{Model: o.Model, NoLogprobs: true, AcceptNoFinish: true}})
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	defer rec.Close()
	r := &runner{opts: o, recorder: rec}
	out := &Replayed{In: d.URI(), Causes: map[string]int64{}, Differ: []Differing{}}
	rows, err := dataset.NewReader[formats.Trajectory](ctx, d, "", d.All())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for out.Rows < d.Rows {
		batch, err := rows.Take(min(d.Rows-out.Rows, int64(min(o.atOnce(), 64))))
		if err == nil {
			err = r.replay(ctx, batch, out)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *runner) replay(ctx context.Context, rows []formats.Trajectory, out *Replayed) error {
	all := make([]*Differing, len(rows))
	var g errgroup.Group
	for i := range rows {
		if t := &rows[i]; t.Status != outcomes.StatusFailed && t.Status != outcomes.StatusSkipped && repeatable(t) {
			g.Go(func() (err error) {
				all[i], err = r.again(ctx, t)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, d := range all {
		out.Rows++
		if d == nil {
			out.Skipped++
			continue
		}
		out.Calls, out.Again = out.Calls+int64(d.Calls), out.Again+int64(d.Again)
		if d.Cause == "" {
			out.Same++
			continue
		}
		out.Causes[d.Cause]++
		out.Differ = append(out.Differ, *d)
	}
	return ctx.Err()
}

// repeatable reports whether each answered call of a trajectory can be answered again.
func repeatable(t *formats.Trajectory) bool {
	return !slices.ContainsFunc(recorder.AnsweredOf(t), func(a recorder.Answered) bool { return a.Request == "" })
}

// again has the agent make a trajectory again.
func (r *runner) again(ctx context.Context, t *formats.Trajectory) (*Differing, error) {
	e, err := exampleOf(t, r.opts.Columns)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.opts.TrajectoryTimeout, errTimeout)
	defer cancel()
	s := r.recorder.Begin(limited, t.TrajectoryID, t.GroupID, recorder.Resume{Answered: recorder.AnsweredOf(t), Only: true})
	err = r.asked(s.Context(), r.newAttempt(t, e, s.BaseURL()))
	record := s.End()
	out := &Differing{TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, Calls: len(t.Calls), Again: record.Earlier,
		Cause: cmp.Or(record.Diverged, record.AnswersLeft)}
	if err != nil && record.Diverged == "" {
		out.Cause, out.Error = cmp.Or(out.Cause, recorder.DivergedEnd), err.Error()
	}
	if out.Cause != "" {
		out.message(t.Messages, record.Messages)
	}
	return out, ctx.Err()
}

// message finds the first message that is not in the recorded trajectory.
func (d *Differing) message(was, is []formats.Message) {
	same := make([]int32, len(is)) // the recorded message that each is
	for i := range is {
		parent := int32(-1)
		if is[i].Parent >= 0 {
			parent = same[is[i].Parent]
		}
		below := func(m formats.Message) bool { return m.Parent == parent }
		at := slices.IndexFunc(was, func(m formats.Message) bool { return below(m) && said(&m) == said(&is[i]) })
		if at < 0 {
			d.Role, d.Is = is[i].Role, said(&is[i])
			if at := slices.IndexFunc(was, below); at >= 0 {
				d.Was = said(&was[at])
			}
			return
		}
		same[i] = int32(at)
	}
}

// said is what a message says, with its tool calls.
func said(m *formats.Message) string {
	out := m.Role + ": " + chat.ContentText(m)
	for _, c := range m.ToolCalls {
		out += "\n" + c.Name + c.Arguments
	}
	return out
}

func exampleOf(t *formats.Trajectory, names formats.FieldNames) (formats.Example, error) {
	e := formats.Example{ID: t.ExampleID, Fields: json.RawMessage(t.Example)}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Fields, &fields); err != nil {
		return e, fault.Invalid(t.TrajectoryID, "", err, "the example of the row is no JSON object")
	}
	e.Question = jsontext.AnyText(fields[cmp.Or(names.Question, "question")])
	e.Answer = jsontext.AnyText(fields[cmp.Or(names.Answer, "answer")])
	return e, nil
}

// WriteText writes the report for people.
func (r *Replayed) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %d of %s the same, %d of %s made again, %d skipped\n", r.In, r.Same, plural.Of(r.Rows-r.Skipped, "trajectory"),
		r.Again, plural.Of(r.Calls, "call"), r.Skipped)
	for _, d := range r.Differ {
		fmt.Fprintf(w, "\n%s of example %s: %s after %d of %s\n", d.TrajectoryID, d.ExampleID, d.Cause, d.Again,
			plural.Of(int64(d.Calls), "call"))
		for _, line := range []struct{ name, text string }{{"was", d.Was}, {"is", d.Is}, {"error", d.Error}} {
			if line.text != "" {
				_, err = fmt.Fprintf(w, "  %-6s%.300q\n", line.name, line.text)
			}
		}
	}
	return err
}
