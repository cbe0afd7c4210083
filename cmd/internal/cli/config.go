package cli

import (
	"context"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/stages/plugin"
)

// notKeys lists flags that have no config key.
var notKeys = []string{"config", "set", "help"}

// configured holds the settings of the config file and of --set, by section and
// key. Global and shared flags are in section "".
type configured struct {
	app       *App
	path      string // of the file; "" for none
	file, set Settings
	lookup    func(string) (string, bool)
	empty     []string // keys without a value that the command would read, with their places
}

// schema maps the sections to their options, at their defaults.
func (a *App) schema() map[string][]*option {
	if a.all != nil {
		return a.all
	}
	all, overlay := map[string][]*option{"": globalOptions()}, a.Overlay.Name
	a.all = all
	if overlay != "" {
		all[overlay] = optionsOf(plugin.Declared(a.Overlay.Settings()))
	}
	for _, cmd := range a.runnable() {
		own := cmd.options()
		if cmd.Section == "" {
			addOptions(all, cmd.configSection(), own)
		}
		if optionNamed(own, overlay) != nil {
			addOptions(all, overlay, slices.DeleteFunc(slices.Clone(own), func(o *option) bool { return o.Name == overlay }))
		}
	}
	return all
}

// addOptions adds to a section the options that it does not have yet.
func addOptions(all map[string][]*option, section string, options []*option) {
	for _, o := range options {
		if optionNamed(all[section], o.Name) == nil {
			all[section] = append(all[section], o)
		}
	}
}

// keys returns the config keys of a section.
func (a *App) keys(section string, all map[string][]*option) []string {
	var names []string
	for _, o := range all[section] {
		if !slices.Contains(notKeys, o.Name) {
			names = append(names, o.Name)
		}
	}
	if section == "" {
		names = append(names, a.Shared...)
	}
	return names
}

// readConfig reads --config, ROLLMILL_CONFIG and --set.
func (a *App) readConfig(ctx context.Context, s *terminal.Console, g *globals) (*configured, error) {
	path := g.Config
	if path == "" {
		path, _ = s.Lookup("ROLLMILL_CONFIG")
	}
	cfg := &configured{app: a, path: path, lookup: s.Lookup}
	var err error
	if path != "" {
		data, err := plugin.ReadFile(ctx, path)
		if err != nil {
			return nil, Usagef("name the config file with --config, or unset ROLLMILL_CONFIG", "config: %w", err)
		}
		var expanded map[string]Expansion
		cfg.file, expanded, err = a.parse(path, data, a.schema(), s.Lookup)
		for name, e := range expanded {
			s.Secrets.AddExpanded(name, e.Value, e.Public)
		}
		if err != nil {
			return nil, err
		}
	}
	cfg.set, err = a.parseSets(g.Sets)
	return cfg, err
}

// usualConfig is the name that guides and `rollmill init` give the config file.
const usualConfig = "rollmill.yaml"

// ConfigHint returns the end of a hint that names the folder's config file if there is
// one and it was not given.
func (s *Session) ConfigHint() string {
	if _, err := os.Stat(usualConfig); err == nil && s.config.path == "" {
		return "; this folder has a config file: --config " + usualConfig
	}
	return ""
}

// ConfigWords returns the flag that names the config file, after a space; "" without a file.
func (s *Session) ConfigWords() string {
	return strings.TrimSuffix(" --config "+s.config.path, " --config ")
}

// apply gives each option that the command line does not set its value from
// --set, the environment or the file, in this order.
func (cfg *configured) apply(section string, options []*option) error {
	sections := []string{section}
	if o := optionNamed(options, cfg.app.Overlay.Name); o != nil && o.Value() == true {
		sections = []string{o.Name, section}
	}
	for _, o := range options {
		if o.given || slices.Contains(notKeys, o.Name) {
			continue
		}
		st, ok := cfg.find(sections, o.Name)
		if !ok {
			continue
		}
		if err := assign(o, section, st); err != nil {
			return err
		}
	}
	return nil
}

func (cfg *configured) find(places []string, name string) (Setting, bool) {
	if slices.Contains(cfg.app.Shared, name) {
		places = append(places, "")
	}
	for _, place := range places {
		if st, ok := cfg.set[place][name]; ok {
			return st, true
		}
	}
	for _, place := range places {
		variable := variable(place, name)
		if text, ok := cfg.lookup(variable); ok && text != "" {
			return Setting{Values: strings.Split(strings.TrimSuffix(text, "\n"), "\n"), Where: variable}, true
		}
	}
	for _, place := range places {
		if st, ok := cfg.file[place][name]; ok && st.Values == nil && !st.List {
			cfg.empty = append(cfg.empty, st.Where+": "+strings.TrimPrefix(place+"."+name, "."))
		} else if ok {
			return st, true
		}
	}
	return Setting{}, false
}

// variable returns the name of a flag's environment variable. For a repeatable
// flag the variable holds one value per line.
func variable(section, name string) string {
	if section != "" {
		name = section + "_" + name
	}
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// assign sets an option from its text values.
func assign(o *option, section string, st Setting) error {
	key := strings.TrimPrefix(section+"."+o.Name, ".")
	values, text := st.Values, strings.Join(st.Values, ", ")
	if !o.Repeats {
		if st.List {
			return Usagef("", "%s: %s takes one value, not a list", st.Where, key)
		}
		text = strings.Join(st.Values, "\n") // a variable may have several lines
		values = []string{text}
	}
	if err := o.assign(values); err != nil {
		return o.refused(st.Where+": "+key, text, err)
	}
	return nil
}

// parseSets reads --set SECTION.KEY=VALUE. A VALUE in brackets is a YAML list;
// the same key again replaces one value and adds to a list.
func (a *App) parseSets(sets []string) (Settings, error) {
	all, out := a.schema(), Settings{}
	for _, text := range sets {
		path, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, Usagef("write --set SECTION.KEY=VALUE", "--set %q has no value", text)
		}
		section, key, ok := strings.Cut(path, ".")
		if !ok {
			section, key = "", path
		}
		if err := a.checkKey("--set", section, key, all); err != nil {
			return nil, err
		}
		st := Setting{Values: []string{value}, Where: "--set"}
		if strings.HasPrefix(value, "[") {
			var list []string
			if err := yaml.Load([]byte(value), &list); err != nil {
				return nil, Usagef("", "--set %s: %q is not a list: %w", path, value, err)
			}
			st.Values, st.List = list, true
		}
		before, again := out[section][key]
		if o := optionNamed(all[section], key); again && o != nil && o.Repeats {
			st.Values = append(before.Values, st.Values...)
		}
		out.Add(section, key, st)
	}
	return out, nil
}

// checkKey refuses a section or key that does not exist.
func (a *App) checkKey(where, section, key string, all map[string][]*option) error {
	if _, ok := all[section]; !ok {
		return Usagef(plugin.Nearest(section, append(a.sections(all), a.keys("", all)...), "sections are "+strings.Join(a.sections(all), ", ")),
			"%s: there is no section %q", where, section)
	}
	known := a.keys(section, all)
	if slices.Contains(known, key) {
		return nil
	}
	if section == "" {
		known = append(known, a.sections(all)...)
		return Usagef(plugin.Nearest(key, known, "see rollmill --help"), "%s: unknown key %q", where, key)
	}
	return Usagef(plugin.Nearest(key, known, "see rollmill "+section+" --help"),
		"%s: unknown key %q in section %s", where,
		key, section)
}

func (a *App) sections(all map[string][]*option) []string {
	var names []string
	for _, cmd := range a.Commands {
		if _, ok := all[cmd.Name]; ok {
			names = append(names, cmd.Name)
		}
	}
	if _, ok := all[a.Overlay.Name]; ok && a.Overlay.Name != "" {
		names = append(names, a.Overlay.Name)
	}
	return names
}
