package plugin

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Type says what a setting's text must be.
type Type string

const (
	Text     Type = "text"
	Switch   Type = "true or false"
	Integer  Type = "a whole number"
	Number   Type = "a number"
	Duration Type = `a duration such as "90s"`
	Object   Type = "KEY=VALUE" // repeated; values are numbers, truth values, lists, objects or text
)

// Setting is one field of a Settings struct.
type Setting struct {
	Name     string   // of the flag and of the key in the config file
	Help     string   // a phrase that begins with a verb; the placeholder is in backquotes
	Heading  string   // of the group of flags that it is listed in
	Type     Type     // of its text, or of each of its texts
	Repeats  bool     // it takes several texts
	Optional bool     // its value is nil until it is given
	Choices  []string // the only texts that it takes; nil for any
	Least    *float64 // the smallest number, or time in nanoseconds, that it takes; nil for any
	Default  string   // as help shows it; "" for what the field holds

	Tag    string // in the identity; "" when it decides no row
	Always bool   // in the identity at its default, too

	Secret   bool // its text may be a secret
	Public   bool // its text is written into rows by intent
	Frequent bool // most runs set it: --help describes it; `rollmill help COMMAND` describes every setting

	Prompt bool // its text is for a model: rows hold it as it is, so it may contain any address and no variable

	Entry any // the JSON schema of each value of an Object; nil for any

	Owner *Owner // the plug-in that it belongs to; nil for the command's own

	first, whole, last bool // see Parse

	key     *key // of a setting that names a key's file
	record  func(address, model string) string
	set     func(texts []string) error
	get     func() any
	initial any
}

// Owner is a plug-in that settings belong to.
type Owner struct {
	Sort     string // "backend", "rule", ...
	Name     string
	Help     string
	About    string // more of its help
	Purpose  string // what it is for, if lists of its sort have headings
	Settings []*Setting
	Plugins  []*Owner // those that it chooses among itself
	Spec     string   // how a spec string names and fills it; "" when its settings are flags

	chosen func() bool
}

// Chosen reports whether the plug-in's settings are read: it was named, or all
// of its sort are used, and so was the plug-in that chooses among them.
func (o *Owner) Chosen() bool { return o == nil || o.chosen() }

// Set gives the field a value. The error says what is wrong with the text; the
// field is then unchanged.
func (s *Setting) Set(texts ...string) error { return s.set(texts) }

// Value returns the field's value.
func (s *Setting) Value() any { return s.get() }

// IsDefault reports whether the field has the value that it had when declared.
func (s *Setting) IsDefault() bool { return reflect.DeepEqual(s.get(), s.initial) }

// Initial returns the value that the field had when declared.
func (s *Setting) Initial() any { return s.initial }

var placeholder = regexp.MustCompile("`([^`]+)`")

// Placeholder returns the word for the value in help, "" for a switch.
func (s *Setting) Placeholder() string {
	if s.Type == Switch {
		return ""
	}
	if m := placeholder.FindStringSubmatch(s.Help); m != nil {
		return m[1]
	}
	return "VALUE"
}

// Phrase returns Help without the backquotes.
func (s *Setting) Phrase() string { return strings.ReplaceAll(s.Help, "`", "") }

// The methods below are for Declare, and return the setting itself.

// ID makes the setting part of the identity, under a tag of its own, when its
// value differs from the default. A dot in the tag makes an object:
// "curriculum.initial" is the field initial of curriculum.
func (s *Setting) ID(tag string) *Setting { s.Tag = tag; return s }

// IDAlways is ID for a setting that is in the identities of existing datasets
// even at its default. New settings use ID.
func (s *Setting) IDAlways(tag string) *Setting { s.Tag, s.Always = tag, true; return s }

// In puts the setting under another heading.
func (s *Setting) In(heading string) *Setting { s.Heading = heading; return s }

// Common marks a setting that most runs set, which --help describes. --help only
// names the others.
func (s *Setting) Common() *Setting { s.Frequent = true; return s }

// Min refuses a number below n. The default may be below it: 0, where that stands for none.
func (s *Setting) Min(n float64) *Setting { s.Least = &n; return s }

// check refuses a value below the least.
func (s *Setting) check(value any) error {
	if s.Least == nil || reflect.ValueOf(value).Convert(reflect.TypeFor[float64]()).Float() >= *s.Least {
		return nil
	}
	return Badf(fmt.Sprintf("give at least %g: %s", *s.Least, s.Phrase()), "%v is too small", value)
}

// DefaultShown sets the default as help shows it, for when the field's value does not
// explain it.
func (s *Setting) DefaultShown(text string) *Setting { s.Default = text; return s }

// Hidden marks a text that may be a secret.
func (s *Setting) Hidden() *Setting { s.Secret = true; return s }

// WrittenToRows marks a text that is written into rows by intent.
func (s *Setting) WrittenToRows() *Setting { s.Public = true; return s }

// ForModels marks a text that a model reads, and that rows hold as it was sent.
func (s *Setting) ForModels() *Setting { s.Prompt = true; return s }
