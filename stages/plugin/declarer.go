package plugin

import "fmt"

// Settings are the settings of a stage or a plug-in: a pointer to a struct
// whose fields hold the defaults.
type Settings interface {
	// Declare declares each field once. It changes none.
	Declare(d *Declarer)
}

// Headings of groups of settings.
const (
	Input      = "Input"
	Rows       = "Row options (part of the dataset's identity)"
	Execution  = "Execution"
	Checks     = "Checks"
	Submission = "Submission"
	Output     = "Output"
)

// Declarer collects settings.
type Declarer struct {
	list   []*Setting
	owners []*Owner

	variables []Variable

	heading string
	owner   *Owner
}

// Declared returns the settings of a struct and of the plug-ins that it chooses
// among, in the order of declaration. It panics if a name is declared twice;
// two plug-ins of one sort may share a name.
func Declared(s Settings) []*Setting { return declare(s).list }

// Owners returns the plug-ins that settings choose among, in order. Those that a
// plug-in chooses among are its own.
func Owners(s Settings) []*Owner { return declare(s).owners }

func declare(s Settings) *Declarer {
	d := &Declarer{}
	s.Declare(d)
	type key struct{ sort, plugin, name string }
	seen := map[key]bool{}
	for _, x := range d.list {
		k := key{name: x.Name}
		if x.Owner != nil {
			k.sort, k.plugin = x.Owner.Sort, x.Owner.Name
		}
		if seen[k] {
			panic(fmt.Sprintf("plugin: %T declares %q twice", s, x.Name))
		}
		seen[k] = true
	}
	return d
}

// Heading names the group of the following settings.
func (d *Declarer) Heading(text string) { d.heading = text }

// Include declares the settings of a part of the struct.
func (d *Declarer) Include(s Settings) {
	before := d.heading
	s.Declare(d)
	d.heading = before
}

func (d *Declarer) add(name, help string, t Type, get func() any, set func([]string) error) *Setting {
	s := &Setting{Name: name, Help: help, Heading: d.heading, Type: t, Owner: d.owner, get: get, set: set, initial: get()}
	d.list = append(d.list, s)
	if d.owner != nil {
		d.owner.Settings = append(d.owner.Settings, s)
	}
	return s
}
