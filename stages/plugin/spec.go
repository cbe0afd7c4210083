package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// Parse fills settings from the arguments of a spec string, such as those of
// --reward after "KIND:". They are one of
//
//	FIRST,key=value,key=value,text=everything that follows, commas too
//	everything, as one text
//
// the second when a setting is declared with WholeSpec. FIRST is the setting
// declared with FirstInSpec, which also has a key.
func Parse(s Settings, arguments string) error {
	list := Declared(s)
	if i := slices.IndexFunc(list, func(x *Setting) bool { return x.whole }); i >= 0 {
		return list[i].Set(strings.TrimSpace(arguments))
	}
	rest := strings.TrimSpace(arguments)
	given := map[string]bool{}
	if first, more, _ := strings.Cut(rest, ","); !strings.Contains(first, "=") {
		if rest = more; first != "" {
			i := slices.IndexFunc(list, func(x *Setting) bool { return x.first })
			if i < 0 {
				return fmt.Errorf("%q is not one of the options %s", first, strings.Join(specKeys(list), ", "))
			}
			given[list[i].Name] = true
			if err := list[i].Set(strings.TrimSpace(first)); err != nil {
				return err
			}
		}
	}
	for rest != "" {
		key, value, ok := strings.Cut(strings.TrimLeft(rest, " "), "=")
		i := slices.IndexFunc(list, func(x *Setting) bool { return x.Name == key })
		if !ok || i < 0 {
			return fmt.Errorf("%q is not one of the options %s", key, strings.Join(specKeys(list), ", "))
		}
		if rest = ""; !list[i].last {
			value, rest, _ = strings.Cut(value, ",")
			value = strings.TrimSpace(value)
		}
		if given[key] {
			return fmt.Errorf("%s is given twice", key)
		}
		given[key] = true
		if err := list[i].Set(value); err != nil {
			return fmt.Errorf("%s=%s: %w", key, value, Reason(list[i], err))
		}
	}
	return nil
}

func specKeys(list []*Setting) (keys []string) {
	for _, x := range list {
		if !x.first {
			keys = append(keys, x.Name)
		}
	}
	return keys
}

// Specs declares the plug-ins of a registry that a spec string names and fills, such as that of
// --reward. Their settings are keys of the spec, not flags; form is the spec as help shows it,
// with KIND and ARGUMENTS as placeholders, and chosen reports whether a spec names a plug-in.
func Specs[S Settings, E Entry[S]](d *Declarer, r Registry[S, E], form string, chosen func(name string) bool) {
	for _, e := range r.entries {
		k := e.Plugin()
		o := newOwner(r.Sort, k, func() bool { return chosen(k.Name) })
		o.Settings = Declared(k.New())
		o.Spec = strings.NewReplacer("KIND", k.Name, "ARGUMENTS", arguments(o.Settings)).Replace(form)
		for _, s := range o.Settings {
			s.Owner = o
		}
		d.owners = append(d.owners, o)
	}
}

// arguments returns the form of a spec's arguments, as Parse reads them.
func arguments(list []*Setting) string {
	var parts []string
	for _, s := range list {
		if s.whole || s.first {
			parts = append([]string{s.Placeholder()}, parts...)
		} else if len(parts) == 0 || parts[len(parts)-1] != anyKeys {
			parts = append(parts, anyKeys)
		}
	}
	return strings.Join(parts, ",")
}

// anyKeys is the form of any number of keys.
const anyKeys = "KEY=VALUE,..."

// Reason returns the error of Set for people: that the text is not of the
// setting's type, or what the setting itself reports.
func Reason(s *Setting, err error) error {
	var staged *fault.Error
	switch {
	case errors.As(err, &staged):
		return err
	case s.Type == Text || s.Type == Object:
		return err
	}
	return fmt.Errorf("it is not %s", s.Type)
}

// Badf refuses a text, with a hint; the caller adds the setting's name.
func Badf(hint, format string, args ...any) error {
	return badValue{fault.Errorf(fault.Usage, hint, format, args...)}
}

// badValue is not yet a whole message: the name of the setting belongs before it.
type badValue struct{ of *fault.Error }

func (b badValue) Error() string               { return b.of.Error() }
func (b badValue) Fault() (fault.Kind, string) { return b.of.Fault() }

// None is embedded in the Settings of a plug-in without settings of its own.
type None struct{}

// Declare declares nothing.
func (*None) Declare(*Declarer) {}

// NewNone returns the settings of a plug-in that has none.
func NewNone() *None { return &None{} }

// SpecForm returns the setting as it is written in a spec.
func (s *Setting) SpecForm() string {
	if s.whole || s.first {
		return s.Placeholder()
	}
	return s.Name + "=" + s.Placeholder()
}

// FirstInSpec marks the setting that a spec string gives first, without a key.
func (s *Setting) FirstInSpec() *Setting { s.first = true; return s }

// WholeSpec marks the setting that takes a spec's arguments as one text.
func (s *Setting) WholeSpec() *Setting { s.whole = true; return s }

// LastInSpec marks the setting that takes everything after its key, including commas.
func (s *Setting) LastInSpec() *Setting { s.last = true; return s }
