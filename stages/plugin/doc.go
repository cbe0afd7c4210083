// Package plugin is the one way to plug into a stage. Agents, rewards, estimators, rules,
// backends and kinds of file are each a [Kind] in a [Registry], with a Settings struct.
//
// A setting is declared once, by the Declare method of the struct that holds it,
// in the manner of package flag:
//
//	type Settings struct {
//		Initial float64
//	}
//
//	func New() *Settings { return &Settings{Initial: 0.3} }
//
//	func (s *Settings) Declare(d *plugin.Declarer) {
//		d.Float(&s.Initial, "curriculum-initial", "begin with this `SHARE` of the groups").ID("curriculum.initial")
//	}
//
// The flag, the key of the config file, the environment variable, completion, the generated
// page, the check of the value's type, the default and the place in the identity are derived
// from that line. A method was chosen over struct tags because a tag cannot hold the backquotes
// of a placeholder, is not checked by the compiler, and cannot hold a closed list of values that
// another package owns.
//
// # Identity
//
// A setting that decides rows has an identity tag, which is separate from the
// flag's name. It enters the identity only if its value differs from the default.
// So a new setting, or a renamed flag, changes the identity of no dataset. A
// changed default raises the stage's version. Settings that were in the identity
// at their default before this rule use IDAlways, for the same reason.
//
// # To add a plug-in
//
// Write a file or a folder with a Settings struct and its Kind, add a line to the
// list (rules.All, builtin.All, ...), and call the suite of its kind (ruletest,
// agenttest, ...). Nothing else changes.
package plugin
