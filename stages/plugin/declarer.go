package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

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

// scalar declares a field with one text.
func scalar[T any](d *Declarer, p *T, name, help string, t Type, parse func(string) (T, error)) *Setting {
	return d.add(name, help, t, func() any { return *p }, func(texts []string) error {
		v, err := parse(strings.Join(texts, "\n"))
		if err == nil {
			*p = v
		}
		return err
	})
}

// optional declares a field that is nil until it is given.
func optional[T any](d *Declarer, p **T, name, help string, t Type, parse func(string) (T, error)) *Setting {
	s := d.add(name, help, t, func() any {
		if *p == nil {
			return nil
		}
		return **p
	}, func(texts []string) error {
		v, err := parse(strings.Join(texts, "\n"))
		if err == nil {
			*p = &v
		}
		return err
	})
	s.Optional = true
	return s
}

// String declares a text.
func (d *Declarer) String(p *string, name, help string) *Setting {
	return scalar(d, p, name, help, Text, anyText)
}

// Bool declares a switch.
func (d *Declarer) Bool(p *bool, name, help string) *Setting {
	return scalar(d, p, name, help, Switch, strconv.ParseBool)
}

// Int declares a whole number.
func (d *Declarer) Int(p *int, name, help string) *Setting {
	return scalar(d, p, name, help, Integer, strconv.Atoi)
}

// Int64 declares a whole number of 64 bits.
func (d *Declarer) Int64(p *int64, name, help string) *Setting {
	return scalar(d, p, name, help, Integer, parseInt64)
}

// Float declares a number.
func (d *Declarer) Float(p *float64, name, help string) *Setting {
	return scalar(d, p, name, help, Number, parseFloat)
}

// Duration declares a time.
func (d *Declarer) Duration(p *time.Duration, name, help string) *Setting {
	return scalar(d, p, name, help, Duration, time.ParseDuration)
}

// OptionalString declares a text that is nil until it is given.
func (d *Declarer) OptionalString(p **string, name, help string) *Setting {
	return optional(d, p, name, help, Text, anyText)
}

// OptionalInt declares a whole number that is nil until it is given.
func (d *Declarer) OptionalInt(p **int, name, help string) *Setting {
	return optional(d, p, name, help, Integer, strconv.Atoi)
}

// OptionalInt64 declares a whole number that is nil until it is given.
func (d *Declarer) OptionalInt64(p **int64, name, help string) *Setting {
	return optional(d, p, name, help, Integer, parseInt64)
}

// OptionalFloat declares a number that is nil until it is given.
func (d *Declarer) OptionalFloat(p **float64, name, help string) *Setting {
	return optional(d, p, name, help, Number, parseFloat)
}

// Strings declares a list of texts.
func (d *Declarer) Strings(p *[]string, name, help string) *Setting {
	return List(d, p, name, help, anyText)
}

// Value is a field that reads its own text.
type Value interface {
	// Parse reads the texts, one unless the setting repeats. On an error the value is unchanged.
	Parse(texts []string) error
}

// Var declares a field that reads its own text. The identity holds the field itself, as JSON.
func Var[T any, P interface {
	*T
	Value
}](d *Declarer, p P, name, help string) *Setting {
	return d.add(name, help, Text, func() any { return *p }, func(texts []string) error { return p.Parse(texts) })
}

// Choice declares a text that must be one of a closed list, or the field's initial value.
func Choice[T ~string](d *Declarer, p *T, name, help string, choices ...T) *Setting {
	texts, initial := make([]string, len(choices)), *p
	for i, c := range choices {
		texts[i] = string(c)
	}
	s := scalar(d, p, name, help, Text, func(text string) (T, error) {
		if T(text) != initial && !slices.Contains(texts, text) {
			return "", &ChoiceError{Text: text, Choices: texts}
		}
		return T(text), nil
	})
	s.Choices = texts
	return s
}

// ChoiceError is the error of a text that is not in the list.
type ChoiceError struct {
	Text    string
	Choices []string
}

func (e *ChoiceError) Error() string {
	return fmt.Sprintf("%q is not one of %s", e.Text, strings.Join(e.Choices, ", "))
}

// Func declares a setting that is not a field of its own type: get returns the
// value for the identity, and set reads the text.
func (d *Declarer) Func(get func() any, set func(text string) error, name, help string) *Setting {
	return d.add(name, help, Text, get, func(texts []string) error { return set(strings.Join(texts, "\n")) })
}

// List declares a list of texts, each of which parse reads. An empty list is nil, as
// it is before it is given.
func List[T any](d *Declarer, p *[]T, name, help string, parse func(text string) (T, error)) *Setting {
	s := d.add(name, help, Text, func() any { return *p }, func(texts []string) error {
		var out []T
		for _, text := range texts {
			v, err := parse(text)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		*p = out
		return nil
	})
	s.Repeats = true
	return s
}
