package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// option is a flag and its config key: all settings of one name. There are
// several when plug-ins of one kind share the name.
type option struct {
	*plugin.Setting                   // the first; the parser and completion use it for all
	all             []*plugin.Setting // of that name
	texts           []string          // values from the command line or the configuration
	given           bool              // on the command line
	bad             error             // the error of a refused value: the parser keeps only its text
}

// optionsOf groups settings by name, in the order of the first of each.
func optionsOf(list []*plugin.Setting) []*option {
	order, in := grouped(list, func(s *plugin.Setting) string { return s.Name })
	return each(order, func(name string) *option { return &option{Setting: in[name][0], all: in[name]} })
}

// Set, String and IsBoolFlag implement the parser's flag.Value. Set assigns a
// value, or adds one to a repeatable option. A second value of another option is an
// error, but a switch may be set twice, such as before and after the command.
func (o *option) Set(text string) error {
	again := o.given
	o.given = true
	switch {
	case o.Repeats:
		o.texts = append(o.texts, text)
	case again && !(o.IsBoolFlag() && text == o.texts[0]):
		o.bad = Usagef("give it once", "--%s takes one value, and is given twice", o.Name)
		return o.bad
	default:
		o.texts = []string{text}
	}
	o.bad = o.assign(o.texts)
	return o.bad
}

func (o *option) String() string   { return "" }
func (o *option) IsBoolFlag() bool { return o.Type == plugin.Switch }

// assign sets every setting of the name.
func (o *option) assign(texts []string) error {
	o.texts = texts
	if err := o.refuseJoined(); err != nil {
		return err
	}
	for _, s := range o.all {
		if err := s.Set(texts...); err != nil {
			return err
		}
	}
	return nil
}

// refuseJoined refuses several choices in one value.
func (o *option) refuseJoined() error {
	other := func(name string) bool { return !slices.Contains(o.Choices, name) }
	for _, text := range o.texts {
		if names := strings.Split(text, ","); o.Repeats && len(names) > 1 && o.Choices != nil && other(text) &&
			!slices.ContainsFunc(names, other) {
			return Usagef(fmt.Sprintf("repeat the flag: --%s %s; in the config file write a list: [%s]", o.Name,
				strings.Join(names, " --"+o.Name+" "), strings.Join(names, ", ")),
				"--%s: %q is %d values", o.Name, text, len(names))
		}
	}
	return nil
}

// chosen reports whether a setting of the name is in effect: the command's own, or
// that of a chosen plug-in.
func (o *option) chosen() bool {
	return slices.ContainsFunc(o.all, func(s *plugin.Setting) bool { return s.Owner.Chosen() })
}

// refused returns the usage error for a refused value. where names the flag or
// the line of the config file.
func (o *option) refused(where, text string, err error) error {
	var staged *fault.Error
	switch {
	case errors.As(err, &staged) && staged.Kind != fault.Input: // of a file that the value names, it is of the value
		return staged
	case fault.HintOf(err) != "":
		return Usagef(fault.HintOf(err), "%s: %w", where, err)
	case o.Type == plugin.Text || o.Type == plugin.Object:
		return Usagef(o.hint(), "%s: %w", where, err)
	case o.Type == plugin.Duration:
		return Usagef("write the unit: 90s, 5m, 2h", "%s: %q is not %s", where, text, o.Type)
	}
	return Usagef(o.hint(), "%s: %q is not %s", where, text, o.Type)
}

// hint returns the line of help on the option.
func (o *option) hint() string { return form(o.Setting) + ": " + o.Phrase() }

// checkChosen refuses settings of plug-ins that were not chosen, if they are on the command
// line. It refuses them in the configuration only when no plug-in is named there or on the
// command line: a configuration that names one may also have settings for others.
func checkChosen(options []*option) error {
	for _, o := range options {
		if o.texts == nil || o.chosen() {
			continue
		}
		if chooser := optionNamed(options, o.Owner.Sort); !o.given && (chooser == nil || chooser.texts != nil) {
			continue
		}
		owners := each(o.all, func(s *plugin.Setting) string { return s.Owner.Name })
		owner := o.Owner.Sort
		return Usagef(fmt.Sprintf("remove it, or choose the %s: --%s %s", owner, owner, owners[0]),
			"--%s is a setting of %s %s, which was not chosen", o.Name, owner, strings.Join(owners, ", "))
	}
	return nil
}

func optionNamed(options []*option, name string) *option {
	if i := slices.IndexFunc(options, func(o *option) bool { return o.Name == name }); i >= 0 {
		return options[i]
	}
	return nil
}

// flagsOf returns the options as flags of the command line's parser.
func flagsOf(options []*option) []urfave.Flag {
	var flags []urfave.Flag
	for _, o := range options {
		flag := &urfave.GenericFlag{Name: o.Name, Value: o}
		if o.Name == "help" {
			flag.Aliases = []string{"h"}
		}
		flags = append(flags, flag)
	}
	return flags
}
