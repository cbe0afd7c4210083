// Package stale refuses trajectories that too old a policy sampled. A
// trajectory is as old as the oldest version that answered one of its target
// calls. One whose version is unknown is stale: nobody can say that it is not.
package stale

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
)

// Kind is the registry's entry.
var Kind = curate.Kind{
	Name:    "stale",
	Help:    "drop what a policy older than --policy-version less --max-staleness sampled",
	Reasons: []string{formats.DropStale},
	New: func(o curate.Options) (curate.Rule, error) {
		if o.MaxStaleness == nil {
			return nil, nil
		}
		return rule{now: *o.PolicyVersion, most: *o.MaxStaleness}, nil
	},
}

type rule struct {
	now, most int64
}

func (s rule) Rows(_ curate.Batch, _ curate.Group, rows []curate.Row) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(rows))
	for i, r := range rows {
		v := oldest(r.Trajectory)
		switch {
		case v == nil:
			verdicts[i] = curate.Verdict{Reason: formats.DropStale, Detail: "its policy version is unknown"}
		case s.now-*v > s.most:
			verdicts[i] = curate.Verdict{Reason: formats.DropStale, Detail: fmt.Sprintf("version %d sampled it, %d is trained", *v, s.now)}
		}
	}
	return verdicts
}

// oldest is nil when a target call's version is unknown, or there is none.
func oldest(t *formats.Trajectory) *int64 {
	var out *int64
	for i := range t.Calls {
		c := &t.Calls[i]
		if !c.Target || c.Error != "" {
			continue
		}
		v := c.PolicyVersion
		if v == nil {
			v = t.PolicyVersion
		}
		if v == nil {
			return nil
		}
		if out == nil || *v < *out {
			out = v
		}
	}
	return out
}
