package plugin

import "slices"

// Each is every plug-in of a registry with its settings, in order.
type Each[S Settings, E Entry[S]] struct {
	sort string
	list []Configured[S, E]
}

// Configured is a plug-in and its settings.
type Configured[S Settings, E Entry[S]] struct {
	Entry    E
	Settings S
}

// Every returns the plug-ins of a registry, all with their defaults.
func Every[S Settings, E Entry[S]](r Registry[S, E]) Each[S, E] {
	out := Each[S, E]{sort: r.Sort}
	for _, e := range r.entries {
		out.list = append(out.list, Configured[S, E]{e, e.Plugin().New()})
	}
	return out
}

// All returns the plug-ins with their settings, in order.
func (a Each[S, E]) All() []Configured[S, E] { return a.list }

// Declare declares the settings of every plug-in.
func (a Each[S, E]) Declare(d *Declarer) {
	for _, c := range a.list {
		k := c.Entry.Plugin()
		owned(d, a.sort, k, func() bool { return true }, c.Settings)
	}
}

// Select declares a setting that names any number of plug-ins of a registry,
// which have no settings of their own; without a name all of them are meant.
func Select[E Entry[*None]](d *Declarer, r Registry[*None, E], names *[]string, name, help string) *Setting {
	s := d.Strings(names, name, help)
	s.Choices = r.Names()
	for _, e := range r.entries {
		k := e.Plugin()
		owned(d, r.Sort, k, func() bool { return len(*names) == 0 || slices.Contains(*names, k.Name) }, k.New())
	}
	return s
}
