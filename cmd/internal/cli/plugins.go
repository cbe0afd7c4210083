package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/stages/plugin"
)

// pluginSort is a kind of plug-in that a command takes, such as rules.
type pluginSort struct {
	name    string
	section string // of the config file
	plugins []*plugin.Owner
}

// sortsOf returns the kinds of plug-in in settings, which may be nil.
func sortsOf(settings plugin.Settings) []*pluginSort {
	if settings == nil {
		return nil
	}
	return sorted(plugin.Owners(settings))
}

// sorted groups plug-ins by their kind.
func sorted(plugins []*plugin.Owner) []*pluginSort {
	order, in := grouped(plugins, func(p *plugin.Owner) string { return p.Sort })
	return each(order, func(name string) *pluginSort { return &pluginSort{name: name, plugins: in[name]} })
}

// pluginSorts returns all kinds of plug-in, in the order of the commands that
// take them. Plug-ins of one kind that several commands take are listed once.
func (a *App) pluginSorts() []*pluginSort {
	var out []*pluginSort
	for _, cmd := range a.runnable() {
		settings, _ := cmd.fresh()
		sorts := sortsOf(settings)
		for _, sort := range sorts {
			for _, p := range sort.plugins {
				sorts = append(sorts, sorted(p.Plugins)...)
			}
		}
		for _, sort := range sorts {
			if i := slices.IndexFunc(out, func(p *pluginSort) bool { return p.name == sort.name }); i >= 0 {
				out[i].add(sort.plugins)
				continue
			}
			sort.section = cmd.configSection()
			out = append(out, sort)
		}
	}
	return out
}

// add adds the plug-ins whose names are new.
func (of *pluginSort) add(more []*plugin.Owner) {
	for _, p := range more {
		if !slices.ContainsFunc(of.plugins, func(o *plugin.Owner) bool { return o.Name == p.Name }) {
			of.plugins = append(of.plugins, p)
		}
	}
}

// pluginHelp returns what `rollmill help KIND NAME` prints.
func (a *App) pluginHelp(sort, name string) (string, error) {
	var names []string
	for _, of := range a.pluginSorts() {
		if of.name == sort {
			return of.help(name)
		}
		names = append(names, of.name)
	}
	return "", Usagef(plugin.Nearest(sort, names, "kinds are "+strings.Join(names, ", ")),
		"there is no kind of plug-in %q", sort)
}

// help returns the help of a plug-in, or of those whose names continue the name:
// trl-sft for trl.
func (of *pluginSort) help(name string) (string, error) {
	var b strings.Builder
	variants, names := &pluginSort{name: of.name}, []string{}
	for _, p := range of.plugins {
		names = append(names, p.Name)
		switch {
		case p.Name == name:
			of.describe(&b, p)
		case name == "" || strings.HasPrefix(p.Name, name+"-"):
			variants.plugins = append(variants.plugins, p)
		}
	}
	if variants.plugins != nil {
		variants.list(&b)
	}
	if b.Len() == 0 {
		return "", Usagef(plugin.Nearest(name, names, of.name+"s: "+strings.Join(names, ", ")), "there is no %s %q",
			of.name, name)
	}
	return strings.TrimLeft(b.String(), "\n"), nil
}

// describe writes the help of a plug-in with its settings.
func (of *pluginSort) describe(b *strings.Builder, p *plugin.Owner) {
	fmt.Fprintf(b, "%s %s - %s\n", of.name, p.Name, p.Help)
	if p.About != "" {
		b.WriteString("\n" + p.About)
	}
	switch {
	case len(p.Settings) == 0:
		b.WriteString("\nIt has no flags of its own.\n")
	case p.Spec != "":
		fmt.Fprintf(b, "\nUsage: %s\n", p.Spec)
		writeFlags(b, p.Settings)
	default:
		writeFlags(b, p.Settings)
		listInner(b, p)
		fmt.Fprintf(b, "\nEvery flag has an environment variable, such as %s, and a key in section %q of the config file.\n",
			variable(of.section, p.Settings[0].Name), of.section)
	}
}

// title returns the kind with an upper-case first letter, for headings.
func (of *pluginSort) title() string { return strings.ToUpper(of.name[:1]) + of.name[1:] }

// named returns the plug-in that the command line chose by name, or nil.
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

// flags writes the flags of a plug-in.
func (of *pluginSort) flags(b *strings.Builder, p *plugin.Owner) {
	for _, s := range p.Settings {
		s.Heading = of.title() + " " + p.Name
	}
	writeFlags(b, p.Settings)
	listInner(b, p)
}

// listInner writes a line for each plug-in that a plug-in chooses among.
func listInner(b *strings.Builder, p *plugin.Owner) {
	for _, of := range sorted(p.Plugins) {
		of.list(b)
	}
}

// list writes a line for each plug-in, under a heading for each purpose.
func (of *pluginSort) list(b *strings.Builder) {
	purposes, in := of.byPurpose()
	for _, purpose := range purposes {
		rows := each(in[purpose], func(p *plugin.Owner) [2]string { return [2]string{p.Name, p.Help} })
		heading := of.title() + "s"
		if purpose != "" {
			heading += " for " + purpose
		}
		terminal.WriteRows(b, fmt.Sprintf("%s (rollmill help %s NAME describes one)", heading, of.name), rows)
	}
}

// listBriefly writes a line for each purpose, or for each plug-in if they have none.
func (of *pluginSort) listBriefly(b *strings.Builder) {
	purposes, in := of.byPurpose()
	if len(purposes) < 2 {
		of.list(b)
		return
	}
	fmt.Fprintf(b, "\n%ss (rollmill help %s NAME describes one):\n", of.title(), of.name)
	for _, purpose := range purposes {
		names := each(in[purpose], func(p *plugin.Owner) string { return p.Name })
		label := "for " + purpose
		if purpose == "" {
			label = "others"
		}
		terminal.WriteWrapped(b, "  "+label+": ", strings.Join(names, ", "))
	}
}

// byPurpose groups plug-ins by purpose, in the order of the first of each.
func (of *pluginSort) byPurpose() (order []string, in map[string][]*plugin.Owner) {
	return grouped(of.plugins, func(p *plugin.Owner) string { return p.Purpose })
}

// ownSettings returns the settings that are not of plug-ins.
func ownSettings(list []*plugin.Setting) []*plugin.Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s *plugin.Setting) bool { return s.Owner != nil })
}
