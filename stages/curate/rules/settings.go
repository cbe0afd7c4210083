package rules

import (
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Number is the settings of a rule that one number asks for.
type Number struct {
	N int64 // 0: the rule does not run

	flag, help string
	make       func(n int64) curate.Rule
}

// newNumber makes the settings' constructor, for the rule's Kind. The flag is the
// tag in the identity, too.
func newNumber(flag, help string, make func(n int64) curate.Rule) func() curate.RuleSettings {
	return func() curate.RuleSettings { return &Number{flag: flag, help: help, make: make} }
}

// Switch is the settings of a rule that runs if it is asked for.
type Switch struct {
	On     bool
	Flag   string // its tag in the identity, too
	Help   string
	Common bool // shown in the short help
	Does   curate.Rule
}

// Declare names the switch.
func (s *Switch) Declare(d *plugin.Declarer) {
	if f := d.Bool(&s.On, s.Flag, s.Help).ID(s.Flag); s.Common {
		f.Common()
	}
}

// Rule returns the rule.
func (s *Switch) Rule(curate.Setup) (curate.Rule, error) {
	if !s.On {
		return curate.Rule{}, nil
	}
	return s.Does, nil
}

// Declare names the number.
func (s *Number) Declare(d *plugin.Declarer) { d.Int64(&s.N, s.flag, s.help).Min(0).ID(s.flag) }

// Rule makes the rule.
func (s *Number) Rule(curate.Setup) (curate.Rule, error) {
	if s.N <= 0 {
		return curate.Rule{}, nil
	}
	return s.make(s.N), nil
}

// eachRow returns a rule that judges every trajectory by itself.
func eachRow(judge func(curate.Batch, curate.Row) curate.Verdict) curate.Rule {
	return curate.Rule{Rows: func(b curate.Batch, _ curate.Group, rows []curate.Row) []curate.Verdict {
		verdicts := make([]curate.Verdict, len(rows))
		for i, r := range rows {
			verdicts[i] = judge(b, r)
		}
		return verdicts
	}}
}
