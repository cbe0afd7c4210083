package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
)

// Chosen is one plug-in of a registry, by name, and its settings.
type Chosen[S Settings, E Entry[S]] struct {
	Name     string // of the plug-in; the default until it is set
	registry Registry[S, E]
	settings map[string]S
}

// Pick returns the choice of one plug-in of a registry. name is the default.
func Pick[S Settings, E Entry[S]](r Registry[S, E], name string) Chosen[S, E] {
	c := Chosen[S, E]{Name: name, registry: r, settings: map[string]S{}}
	for _, e := range r.entries {
		k := e.Plugin()
		c.settings[k.Name] = k.New()
	}
	return c
}

// Get returns the chosen plug-in and its settings. The error is of kind usage:
// there is no plug-in of that name.
func (c *Chosen[S, E]) Get() (entry E, settings S, err error) {
	entry, err = c.registry.Find(c.Name)
	return entry, c.settings[c.Name], err
}

// Choose declares the setting that names a plug-in, and the settings of every
// plug-in of the registry; those of the chosen one are read.
func Choose[S Settings, E Entry[S]](d *Declarer, c *Chosen[S, E], name, help string) *Setting {
	s := d.String(&c.Name, name, help)
	s.Choices = c.registry.Names()
	for _, e := range c.registry.entries {
		k := e.Plugin()
		owned(d, c.registry.Sort, k, func() bool { return c.Name == k.Name }, c.settings[k.Name])
	}
	return s
}

// ChooseSpec is Choose for a setting whose text may continue after the name:
// "NAME: WORDS". The words are split as a shell would, and passed to keep.
func ChooseSpec[S Settings, E Entry[S]](d *Declarer, c *Chosen[S, E], name, help string,
	keep func(settings S, words []string) error) *Setting {
	s := Choose(d, c, name, help)
	s.set = func(texts []string) error {
		plain, arguments, more := strings.Cut(texts[0], ":")
		c.Name = strings.TrimSpace(plain)
		if !more {
			return nil
		}
		_, settings, err := c.Get()
		if err != nil {
			return err
		}
		words, err := shellquote.Split(arguments)
		if err != nil {
			return fmt.Errorf("%q: %w; quote the words as in a shell", texts[0], err)
		}
		return keep(settings, words)
	}
	return s
}

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

// owned declares the settings of a plug-in, which the command or another plug-in
// chooses.
func owned[S Settings](d *Declarer, sort string, k Kind[S], chosen func() bool, s S) {
	before, heading := d.owner, d.heading
	d.owner = newOwner(sort, k, func() bool { return before.Chosen() && chosen() })
	if before == nil {
		d.owners = append(d.owners, d.owner)
	} else {
		before.Plugins = append(before.Plugins, d.owner)
	}
	s.Declare(d)
	d.owner, d.heading = before, heading
}

func newOwner[S Settings](sort string, k Kind[S], chosen func() bool) *Owner {
	return &Owner{Sort: sort, Name: k.Name, Help: k.Help, About: k.About, Purpose: k.Purpose, chosen: chosen}
}
