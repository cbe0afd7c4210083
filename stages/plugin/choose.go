package plugin

import (
	"fmt"
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

// owned declares the settings of a plug-in, which the command or another plug-in chooses.
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
