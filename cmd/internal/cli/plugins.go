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
func (kind *pluginSort) add(more []*plugin.Owner) {
	for _, p := range more {
		if !slices.ContainsFunc(kind.plugins, func(o *plugin.Owner) bool { return o.Name == p.Name }) {
			kind.plugins = append(kind.plugins, p)
		}
	}
}

// pluginHelp returns what `rollmill help KIND NAME` prints.
func (a *App) pluginHelp(sort, name string) (string, error) {
	var names []string
	for _, kind := range a.pluginSorts() {
		if kind.name == sort {
			return kind.help(name)
		}
		names = append(names, kind.name)
	}
	return "", Usagef(plugin.Nearest(sort, names, "kinds are "+strings.Join(names, ", ")),
		"there is no kind of plug-in %q", sort)
}

// help returns the help of a plug-in, or of those whose names continue the name:
// trl-sft for trl.
func (kind *pluginSort) help(name string) (string, error) {
	var b strings.Builder
	variants, names := &pluginSort{name: kind.name}, []string{}
	for _, p := range kind.plugins {
		names = append(names, p.Name)
		switch {
		case p.Name == name:
			kind.describe(&b, p)
		case name == "" || strings.HasPrefix(p.Name, name+"-"):
			variants.plugins = append(variants.plugins, p)
		}
	}
	if variants.plugins != nil {
		variants.list(&b)
	}
	if b.Len() == 0 {
		return "", Usagef(plugin.Nearest(name, names, kind.name+"s: "+strings.Join(names, ", ")), "there is no %s %q",
			kind.name, name)
	}
	return strings.TrimLeft(b.String(), "\n"), nil
}

// describe writes the help of a plug-in with its settings.
func (kind *pluginSort) describe(b *strings.Builder, p *plugin.Owner) {
	fmt.Fprintf(b, "%s %s - %s\n", kind.name, p.Name, p.Help)
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
			variable(kind.section, p.Settings[0].Name), kind.section)
	}
}

// title returns the kind with an upper-case first letter, for headings.
func (kind *pluginSort) title() string { return strings.ToUpper(kind.name[:1]) + kind.name[1:] }

// named returns the plug-in that the command line chose by name, or nil.
func (kind *pluginSort) named(options []*option) *plugin.Owner {
	if o := optionNamed(options, kind.name); o == nil || !o.given {
		return nil
	}
	if i := slices.IndexFunc(kind.plugins, (*plugin.Owner).Chosen); i >= 0 {
		return kind.plugins[i]
	}
	return nil
}

func (kind *pluginSort) flags(b *strings.Builder, p *plugin.Owner) {
	for _, s := range p.Settings {
		s.Heading = kind.title() + " " + p.Name
	}
	writeFlags(b, p.Settings)
	listInner(b, p)
}

// listInner writes a line for each plug-in that a plug-in chooses among.
func listInner(b *strings.Builder, p *plugin.Owner) {
	for _, kind := range sorted(p.Plugins) {
		kind.list(b)
	}
}

// list writes a line for each plug-in, under a heading for each purpose.
func (kind *pluginSort) list(b *strings.Builder) {
	purposes, in := kind.byPurpose()
	for _, purpose := range purposes {
		rows := each(in[purpose], func(p *plugin.Owner) [2]string { return [2]string{p.Name, p.Help} })
		heading := kind.title() + "s"
		if purpose != "" {
			heading += " for " + purpose
		}
		terminal.WriteRows(b, fmt.Sprintf("%s (rollmill help %s NAME describes one)", heading, kind.name), rows)
	}
}

// listBriefly writes a line for each purpose, or for each plug-in if they have none.
func (kind *pluginSort) listBriefly(b *strings.Builder) {
	purposes, in := kind.byPurpose()
	if len(purposes) < 2 {
		kind.list(b)
		return
	}
	fmt.Fprintf(b, "\n%ss (rollmill help %s NAME describes one):\n", kind.title(), kind.name)
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
func (kind *pluginSort) byPurpose() (order []string, in map[string][]*plugin.Owner) {
	return grouped(kind.plugins, func(p *plugin.Owner) string { return p.Purpose })
}

// ownSettings returns the settings that are not of plug-ins.
func ownSettings(list []*plugin.Setting) []*plugin.Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s *plugin.Setting) bool { return s.Owner != nil })
}
