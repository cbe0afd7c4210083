package recorder_test

import (
	"context"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

var aTool = []fields{{"type": "function", "function": fields{"name": "f", "parameters": fields{"type": "object"}}}}

// TestAuxiliaryCallsDoNotTrain, and what becomes of them decides nothing: an answer that nothing
// could train on, a failure of the engine, another model's name.
func TestAuxiliaryCallsDoNotTrain(t *testing.T) {
	tools := fields{"tools": aTool}
	title := func(s string) bool { return s == "title of it" }
	for name, c := range map[string]struct {
		titles, work fields // of the calls for a title, and of the others; nil: none
		fault        fault  // of titles
		train        bool   // --auxiliary train
		targets      []bool
		unfit, lost  string
		stopped      bool // while the trajectory ran
	}{
		"answered":                   {titles: fields{}, work: tools, targets: []bool{false, true, true}},
		"answered, and trains":       {titles: fields{}, work: tools, train: true, targets: []bool{true, true, true}},
		"with tools":                 {titles: tools, work: tools, targets: []bool{true, true, true}},
		"no tools at all":            {titles: fields{}, work: fields{}, targets: []bool{true, true, true}},
		"no logprobs":                {titles: fields{}, work: tools, fault: fault{Kind: recordertest.NoLogprobs}, targets: []bool{false, true, true}},
		"no logprobs, of a stream":   {titles: fields{"stream": true}, work: tools, fault: fault{Kind: recordertest.NoLogprobs}, targets: []bool{false, true, true}},
		"no logprobs, and trains":    {titles: fields{}, work: tools, fault: fault{Kind: recordertest.NoLogprobs}, train: true, unfit: outcomes.FailNoLogprobs, stopped: true},
		"no logprobs with tools":     {titles: tools, work: tools, fault: fault{Kind: recordertest.NoLogprobs}, unfit: outcomes.FailNoLogprobs, stopped: true},
		"no logprobs nor tools":      {titles: fields{}, work: fields{}, fault: fault{Kind: recordertest.NoLogprobs}, targets: []bool{true, true, true}, unfit: outcomes.FailNoLogprobs},
		"failed at the engine":       {titles: fields{}, work: tools, fault: fault{Status: 500}, targets: []bool{false, true, true}},
		"failed, and trains":         {titles: fields{}, work: tools, fault: fault{Status: 500}, train: true, targets: []bool{true, true, true}, lost: outcomes.FailEngine},
		"failed without tools":       {titles: fields{}, work: fields{}, fault: fault{Status: 500}, targets: []bool{true, true, true}, lost: outcomes.FailEngine},
		"the only call has no tools": {titles: fields{}, targets: []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Fault: func(_ int, q recordertest.Request) fault {
				if title(q.Messages[len(q.Messages)-1].Content) {
					return c.fault
				}
				return fault{}
			}}
			kept := 0
			s := record(t, e, func(o *recorder.Options) { o.TrainAuxiliary, o.Retries = c.train, -1 }).
				Begin(context.Background(), "t", "g", recorder.Resume{Keep: func(a recorder.Answered) {
					if a.Request != "" {
						kept++
					}
				}})
			system := fields{"role": "system", "content": "be brief"}
			order := []fields{c.titles, c.work, c.work}
			if c.fault.Status != 0 { // at last
				order = []fields{c.work, c.work, c.titles}
				if c.targets != nil {
					c.targets = []bool{c.targets[1], c.targets[2], c.targets[0]}
				}
			}
			stopped, asked := false, 0
			for i, q := range order {
				if q == nil {
					continue
				}
				asked++
				if i == 0 && c.fault.Status == 0 || i == 2 && c.fault.Status != 0 {
					ask(t, s, q, fields{"role": "system", "content": "titles only"}, user("title of it"))
				} else {
					ask(t, s, q, system, user("one"), user(string(rune('a'+i))))
				}
				stopped = stopped || s.Context().Err() != nil
				if stopped {
					break
				}
			}
			rec := s.End()
			if stopped != c.stopped {
				t.Errorf("stopped %v", stopped)
			}
			unfit, lost := "", ""
			if rec.Untrainable != nil {
				unfit = rec.Untrainable.Class
			}
			if rec.LostCall != nil {
				lost = rec.LostCall.Class
			}
			if unfit != c.unfit || lost != c.lost {
				t.Errorf("unfit %q, lost %q", unfit, lost)
			}
			for i, target := range c.targets {
				call := rec.Calls[i]
				if call.Target != target || call.Settings().Auxiliary == target {
					t.Errorf("call %d: target %v, sampling %s", i, call.Target, call.Sampling)
				}
			}
			if c.fault.Kind == recordertest.NoLogprobs && kept >= asked {
				t.Errorf("%d of %d answers are given again", kept, asked)
			}
			if rec.TokenSource != schema.TokensChoice && !stopped {
				t.Errorf("token ids from %q", rec.TokenSource)
			}
		})
	}
}
