package rules

import (
	"cmp"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonStale = "stale" // too old a policy sampled it

// Stale refuses trajectories that were sampled by too old a policy. The age of a trajectory is
// that of the oldest version that answered one of its target calls. An unknown version counts as
// stale, because it cannot be shown to be recent.
var Stale = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "stale", Help: "drop trajectories sampled by too old a policy",
		New: func() curate.RuleSettings { return &StaleSettings{} }},
	Reasons: []string{reasonStale},
}

// StaleSettings are the rule's settings; both or neither are given.
type StaleSettings struct {
	Version      *int64 // of the policy that is trained now
	MaxStaleness *int64 // versions that a trajectory may be older; nil: the rule does not run
}

// Declare declares the settings.
func (s *StaleSettings) Declare(d *plugin.Declarer) {
	d.OptionalInt64(&s.Version, "policy-version",
		"treat version `N` of the policy as the one that is trained now; with --max-staleness").ID("policy-version")
	d.OptionalInt64(&s.MaxStaleness, "max-staleness",
		"drop trajectories sampled by a policy more than `N` versions older").Min(0).
		ID("max-staleness").Common()
}

// Rule makes the rule.
func (s *StaleSettings) Rule(curate.Setup) (curate.Rule, error) {
	switch {
	case (s.Version == nil) != (s.MaxStaleness == nil):
		return curate.Rule{}, curate.Usage("give both: the version that is trained now, and how far behind it a trajectory may be",
			"curate: --max-staleness and --policy-version go together")
	case s.MaxStaleness == nil:
		return curate.Rule{}, nil
	}
	return eachRow(s.judge), nil
}

func (s *StaleSettings) judge(_ curate.Batch, r curate.Row) curate.Verdict {
	switch v := oldest(r.Trajectory); {
	case v == nil:
		return curate.Verdict{Reason: reasonStale, Detail: "its policy version is unknown"}
	case *s.Version-*v > *s.MaxStaleness:
		return curate.Verdict{Reason: reasonStale,
			Detail: fmt.Sprintf("version %d sampled it, %d is trained", *v, *s.Version)}
	}
	return curate.Verdict{}
}

// oldest returns nil if a target call's version is unknown, or there is no target call.
func oldest(t *formats.Trajectory) *int64 {
	var out *int64
	for i := range t.Calls {
		c := &t.Calls[i]
		if !c.Target || c.Error != "" {
			continue
		}
		v := cmp.Or(c.PolicyVersion, t.PolicyVersion)
		if v == nil {
			return nil
		}
		if out == nil || *v < *out {
			out = v
		}
	}
	return out
}
