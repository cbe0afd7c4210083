package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// pluginSort is a sort of plug-in that a command takes, such as rules.
type pluginSort struct {
	name    string
	section string // of the config file
	plugins []*plugin.Owner
}

// sortsOf are the sorts of plug-ins among settings, nil settings having none.
func sortsOf(settings plugin.Settings) []*pluginSort {
	var out []*pluginSort
	if settings == nil {
		return nil
	}
	for _, o := range plugin.Owners(settings) {
		i := slices.IndexFunc(out, func(p *pluginSort) bool { return p.name == o.Sort })
		if i < 0 {
			i, out = len(out), append(out, &pluginSort{name: o.Sort})
		}
		out[i].plugins = append(out[i].plugins, o)
	}
	return out
}

// pluginSorts are all sorts of plug-ins, by the commands that take them.
func pluginSorts() []*pluginSort { return pluginSortsOf(commands()) }

func pluginSortsOf(commands []command) []*pluginSort {
	var out []*pluginSort
	for _, cmd := range runnableOf(commands) {
		settings, _ := cmd.fresh()
		for _, sort := range sortsOf(settings) {
			if !slices.ContainsFunc(out, func(p *pluginSort) bool { return p.name == sort.name }) {
				sort.section = cmd.configSection()
				out = append(out, sort)
			}
		}
	}
	return out
}

// pluginHelp is what `rollmill help SORT NAME` prints.
func pluginHelp(sort, name string) (string, error) {
	var names []string
	for _, of := range pluginSorts() {
		if of.name == sort {
			return of.help(name)
		}
		names = append(names, of.name)
	}
	return "", usage(plugin.Nearest(sort, names, "sorts are "+strings.Join(names, ", ")), "there is no sort of plug-in %q", sort)
}

func (of *pluginSort) help(name string) (string, error) {
	var names []string
	for _, p := range of.plugins {
		if p.Name != name {
			names = append(names, p.Name)
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s - %s\n", of.name, name, p.Help)
		if len(p.Settings) == 0 {
			b.WriteString("\nIt has no flags of its own.\n")
			return b.String(), nil
		}
		if p.Spec != "" {
			fmt.Fprintf(&b, "\nUsage: %s\n", p.Spec)
			writeFlags(&b, p.Settings)
			return b.String(), nil
		}
		writeFlags(&b, p.Settings)
		fmt.Fprintf(&b, "\nEvery flag has an environment variable, as %s, and a key in the config file, in section %q.\n", variable(of.section, p.Settings[0].Name), of.section)
		return b.String(), nil
	}
	return "", usage(plugin.Nearest(name, names, of.name+"s: "+strings.Join(names, ", ")), "there is no %s %q", of.name, name)
}

// title is the sort as it begins a heading.
func (of *pluginSort) title() string { return strings.ToUpper(of.name[:1]) + of.name[1:] }

// named is the plug-in that the command line chose by name, nil for none.
func (of *pluginSort) named(options []*option) *plugin.Owner {
	if o := optionNamed(options, of.name); o == nil || !o.given {
		return nil
	}
	for _, p := range of.plugins {
		if p.Chosen() {
			return p
		}
	}
	return nil
}

// flags shows the flags of a plug-in.
func (of *pluginSort) flags(b *strings.Builder, p *plugin.Owner) {
	for _, s := range p.Settings {
		s.Heading = of.title() + " " + p.Name
	}
	writeFlags(b, p.Settings)
}

// list shows a line for each plug-in.
func (of *pluginSort) list(b *strings.Builder) {
	fmt.Fprintf(b, "\n%ss (rollmill help %s NAME shows the settings of one):\n", of.title(), of.name)
	width := 0
	for _, p := range of.plugins {
		width = max(width, len(p.Name))
	}
	for _, p := range of.plugins {
		fmt.Fprintf(b, "  %-*s  %s\n", width, p.Name, p.Help)
	}
}

// ownSettings leaves out those of plug-ins.
func ownSettings(list []*plugin.Setting) []*plugin.Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s *plugin.Setting) bool { return s.Owner != nil })
}
