package plugin

import (
	"fmt"
	"slices"
	"strings"
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
