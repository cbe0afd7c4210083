package rules

import (
	"context"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

const reasonFilter = "filter" // an expression is false for it

// Filter refuses everything for which an expression is false, in the language of expr-lang: `0 <
// group.mean && group.mean < 1`. It may read the fields of Group and Trajectory below. An
// expression that mentions no trajectory refuses whole groups, before rules that compare groups
// see them; the others judge members. If an expression fails for a trajectory, the trajectory is
// refused.
var Filter = curate.RuleKind{
	Kind: plugin.Kind[curate.RuleSettings]{Name: "filter",
		Help: "keep groups or members for which every filter expression is true",
		New:  func() curate.RuleSettings { return &FilterSettings{} }},
	Reasons: []string{reasonFilter},
}

// FilterSettings are the rule's settings.
type FilterSettings struct {
	Expressions []string // all must be true; none: the rule does not run
}

// Declare declares the settings.
func (s *FilterSettings) Declare(d *plugin.Declarer) {
	d.Strings(&s.Expressions, "filter",
		"keep groups or members for which `EXPRESSION` is true, such as 0 < group.mean && trajectory.sampled_tokens < 4000").
		ID("filter").Common()
}

// Rule compiles the expressions.
func (s *FilterSettings) Rule(curate.Setup) (curate.Rule, error) {
	if len(s.Expressions) == 0 {
		return curate.Rule{}, nil
	}
	r, rule := &filterRule{}, curate.Rule{}
	for _, text := range s.Expressions {
		p, members, err := compile(text)
		if err != nil {
			return curate.Rule{}, err
		}
		read := fields(p.Program)
		r.passes = r.passes || read["pass_at_k"]
		rule.Tokens = rule.Tokens || read["sampled_tokens"] || read["length_mean"]
		if members {
			r.members, rule.Rows = append(r.members, program{text, p}), r.rows
		} else {
			r.groups, rule.Group = append(r.groups, program{text, p}), r.group
		}
	}
	if len(r.members) > 0 {
		rule.Absent = r.absent
	}
	return rule, nil
}

type filterRule struct {
	groups, members []program // expressions that are only about groups, and the others
	passes          bool      // an expression reads pass_at_k
}

func (r *filterRule) group(_ curate.Batch, g *curate.Group) curate.Verdict {
	return judge(r.groups, environment{Group: group(*g, r.passes)})
}

func (r *filterRule) rows(_ curate.Batch, g curate.Group, rows []curate.Row) []curate.Verdict {
	verdicts := make([]curate.Verdict, len(rows))
	env := environment{Group: group(g, r.passes)}
	for i, row := range rows {
		env.Trajectory = trajectory(row)
		verdicts[i] = judge(r.members, env)
	}
	return verdicts
}

func (r *filterRule) absent() (notes []string) {
	for _, p := range r.members {
		if names := p.Absent(); names != nil {
			notes = append(notes, fmt.Sprintf("--filter %q: no row has a value of %s", p.text, strings.Join(names, ", ")))
		}
	}
	return notes
}

func judge(programs []program, env environment) curate.Verdict {
	for _, p := range programs {
		out, err := p.Run(context.Background(), env) // bounded by its budget
		if err != nil {
			return curate.Verdict{Reason: reasonFilter, Detail: fmt.Sprintf("%s: %v", p.text, err)}
		}
		if ok, _ := out.(bool); !ok {
			return curate.Verdict{Reason: reasonFilter, Detail: p.text}
		}
	}
	return curate.Verdict{}
}
