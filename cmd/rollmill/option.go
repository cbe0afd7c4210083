package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// option is a flag and its config key: the settings of one name, of which there
// are several when plug-ins of one sort share it.
type option struct {
	*plugin.Setting                   // the first, which speaks for all to the parser and to completion
	all             []*plugin.Setting // of that name
	texts           []string          // that the command line gave
	given           bool              // on the command line
	bad             error             // of the text that was refused there: the parser keeps only its words
}

// optionsOf groups settings by name, in the order of the first of each.
func optionsOf(list []*plugin.Setting) []*option {
	var out []*option
	at := map[string]*option{}
	for _, s := range list {
		o := at[s.Name]
		if o == nil {
			o = &option{Setting: s}
			at[s.Name] = o
			out = append(out, o)
		}
		o.all = append(o.all, s)
	}
	return out
}

// flag is what the parser of the command line knows of an option.
func (o *option) flag() cli.Flag {
	flag := &cli.GenericFlag{Name: o.Name, Usage: o.Help, Value: o}
	if o.Name == "help" {
		flag.Aliases = []string{"h"}
	}
	return flag
}

// Set, String and IsBoolFlag are the parser's way to give the option a text.
func (o *option) Set(text string) error {
	o.given = true
	if o.Repeats {
		o.texts = append(o.texts, text)
	} else {
		o.texts = []string{text}
	}
	o.bad = o.assign(o.texts)
	return o.bad
}

func (o *option) String() string   { return "" }
func (o *option) IsBoolFlag() bool { return o.Type == plugin.Switch }

// assign gives every setting of the name its value.
func (o *option) assign(texts []string) error {
	o.texts = texts
	for _, s := range o.all {
		if err := s.Set(texts...); err != nil {
			return err
		}
	}
	return nil
}

// on reports whether a switch is on.
func (o *option) on() bool {
	on, _ := o.Value().(bool)
	return on
}

// chosen are the settings that count: the command's own, and those of chosen
// plug-ins.
func (o *option) chosen() []*plugin.Setting {
	return slices.DeleteFunc(slices.Clone(o.all), func(s *plugin.Setting) bool { return !s.Owner.Chosen() })
}

// refused says what is wrong with a text: where names the flag or the place in
// the config file.
func (o *option) refused(where, text string, err error) error {
	var staged *stages.Error
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &staged):
		return staged
	case errors.As(err, &hinted):
		return usage(hinted.Hint(), "%s: %w", where, err)
	case o.Type == plugin.Text || o.Type == plugin.Object:
		return usage("see --help", "%s: %w", where, err)
	case o.Type == plugin.Duration:
		return usage("write the unit: 90s, 5m, 2h", "%s: %q is not %s", where, text, o.Type)
	}
	return usage("see --help", "%s: %q is not %s", where, text, o.Type)
}

// strangers refuses settings of plug-ins that were not chosen: those on the
// command line, and in the configuration when nothing says which is meant. Where
// one is named, the configuration may have settings for others, too.
func strangers(options []*option) error {
	for _, o := range options {
		if o.texts == nil || len(o.chosen()) > 0 {
			continue
		}
		if chooser := optionNamed(options, o.Owner.Sort); !o.given && (chooser == nil || chooser.texts != nil) {
			continue
		}
		var owners []string
		for _, s := range o.all {
			owners = append(owners, s.Owner.Name)
		}
		owner := o.Owner.Sort
		return usage(fmt.Sprintf("leave it out, or name the %s: --%s %s", owner, owner, owners[0]), "--%s is a setting of %s %s, which is not the one chosen", o.Name, owner, strings.Join(owners, ", "))
	}
	return nil
}

func optionNamed(options []*option, name string) *option {
	for _, o := range options {
		if o.Name == name {
			return o
		}
	}
	return nil
}

func flagsOf(options []*option) []cli.Flag {
	flags := make([]cli.Flag, len(options))
	for i, o := range options {
		flags[i] = o.flag()
	}
	return flags
}
