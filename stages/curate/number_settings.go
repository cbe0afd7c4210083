package curate

import "github.com/rollmill/rollmill/stages/plugin"

// Number is the settings of a rule that one number asks for.
type Number struct {
	N int64 // 0: the rule does not run

	flag, help string
	make       func(n int64) Rule
}

// NewNumber makes the settings' constructor, for the rule's Kind. The flag is the
// tag in the identity, too.
func NewNumber(flag, help string, make func(n int64) Rule) func() RuleSettings {
	return func() RuleSettings { return &Number{flag: flag, help: help, make: make} }
}

// Switch is the settings of a rule that runs if it is asked for.
type Switch struct {
	On     bool
	Flag   string // its tag in the identity, too
	Help   string
	Common bool // shown in the short help
	Does   Rule
}

// Declare names the switch.
func (s *Switch) Declare(d *plugin.Declarer) {
	if f := d.Bool(&s.On, s.Flag, s.Help).ID(s.Flag); s.Common {
		f.Common()
	}
}

// Rule returns the rule.
func (s *Switch) Rule(Setup) (Rule, error) {
	if !s.On {
		return Rule{}, nil
	}
	return s.Does, nil
}

// Declare names the number.
func (s *Number) Declare(d *plugin.Declarer) { d.Int64(&s.N, s.flag, s.help).ID(s.flag) }

// Rule makes the rule.
func (s *Number) Rule(Setup) (Rule, error) {
	if s.N <= 0 {
		return Rule{}, NotNegative(s)
	}
	return s.make(s.N), nil
}
