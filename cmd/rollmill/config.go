package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/config"
	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v4"
)

// shared are flags that may stand at the top of the config file, for every
// command that has them, and whose environment variable may leave out the
// command.
var shared = []string{"run", "root"}

// validation is the section for held-out examples. It has the keys of every
// command with a flag of that name, and comes before the command's own section
// when the flag is given.
const validation = "validation"

// notKeys are flags that say where the settings are.
var notKeys = []string{"config", "set"}

// settings are what the config file and --set say, by section and key; the
// section of global and shared flags is "".
type settings struct {
	file, set config.Settings
	lookup    func(string) (string, bool)
}

// schema maps the sections to their flags.
func schema() map[string][]cli.Flag {
	all := map[string][]cli.Flag{
		"":         globalFlags(),
		validation: inCategory(aboutRows, &cli.IntFlag{Name: "interval", Usage: "what --validation-interval of train is by default, `N`"}),
	}
	for _, cmd := range commands() {
		flags := cmd.flags()
		if len(flags) > 0 && cmd.section == "" {
			all[cmd.name] = flags
		}
		if flagNamed(flags, "validation") != nil {
			for _, f := range flags {
				if name := f.Names()[0]; name != validation && flagNamed(all[validation], name) == nil {
					all[validation] = append(all[validation], f)
				}
			}
		}
	}
	return all
}

// keySchema says of the config file's keys what these flags say.
func keySchema(all map[string][]cli.Flag) config.Schema {
	return config.Schema{
		Has:    func(section string) bool { return all[section] != nil },
		Check:  func(where, section, key string) error { return checkKey(where, section, key, all) },
		Object: func(key string) bool { return slices.Contains(objects, key) },
		Public: publicKey,
	}
}

// publicKey reports whether a setting is written into rows by intent.
func publicKey(key string) bool {
	return strings.HasSuffix(key, "model") || slices.Contains([]string{"run", "root", "in", "out", "examples", "policy", "system", "user", "request"}, key)
}

// keys are the config keys of a section.
func keys(section string, all map[string][]cli.Flag) []string {
	var names []string
	for _, f := range all[section] {
		if name := f.Names()[0]; !slices.Contains(notKeys, name) {
			names = append(names, name)
		}
	}
	if section == "" {
		names = append(names, shared...)
	}
	return names
}

// readConfig reads --config, ROLLMILL_CONFIG and --set.
func readConfig(s *streams, c *cli.Context) (*settings, error) {
	cfg := &settings{lookup: s.lookup}
	path := c.String("config")
	if path == "" {
		path, _ = s.lookup("ROLLMILL_CONFIG")
	}
	var err error
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("name the config file with --config, or unset ROLLMILL_CONFIG", "config: %w", err)
		}
		var expanded map[string]config.Expansion
		cfg.file, expanded, err = config.Parse(path, data, keySchema(schema()), s.lookup)
		for name, e := range expanded {
			s.secrets.AddExpanded(name, e.Value, e.Public)
		}
		if err != nil {
			return nil, err
		}
	}
	cfg.set, err = parseSets(c.StringSlice("set"))
	return cfg, err
}

// apply gives each flag that the command line does not set its value from
// --set, the environment or the file, in this order.
func (cfg *settings) apply(c *cli.Context, section string, flags []cli.Flag) error {
	sections := []string{section}
	if flagNamed(flags, validation) != nil && c.Bool(validation) {
		sections = []string{validation, section}
	}
	for _, f := range flags {
		name := f.Names()[0]
		if c.IsSet(name) || slices.Contains(notKeys, name) {
			continue
		}
		st, ok := cfg.find(sections, name)
		if !ok {
			continue
		}
		if err := assign(c, f, section, st); err != nil {
			return err
		}
	}
	return nil
}

func (cfg *settings) find(places []string, name string) (config.Setting, bool) {
	if slices.Contains(shared, name) {
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
			return config.Setting{Values: strings.Split(strings.TrimSuffix(text, "\n"), "\n"), Where: variable}, true
		}
	}
	for _, place := range places {
		if st, ok := cfg.file[place][name]; ok {
			return st, true
		}
	}
	return config.Setting{}, false
}

// variable names the environment variable of a flag. A repeated flag's holds
// a value a line.
func variable(section, name string) string {
	full := "ROLLMILL_" + section + "_" + name
	if section == "" {
		full = "ROLLMILL_" + name
	}
	return strings.ToUpper(strings.ReplaceAll(full, "-", "_"))
}

// assign sets a flag from text.
func assign(c *cli.Context, f cli.Flag, section string, st config.Setting) error {
	name, key := f.Names()[0], f.Names()[0]
	if section != "" {
		key = section + "." + key
	}
	if describe(f).repeats {
		return setAll(c, name, st.Values)
	}
	text := strings.Join(st.Values, "\n") // of several lines in the environment
	if st.List {
		return usage("", "%s: %s takes one value, not a list", st.Where, key)
	}
	if err := c.Set(name, text); err != nil {
		return usage("", "%s: %s: %q is not %s", st.Where, key, text, kindOf(f))
	}
	return nil
}

func kindOf(f cli.Flag) string {
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		return "a whole number"
	case *cli.Float64Flag:
		return "a number"
	case *cli.BoolFlag:
		return "true or false"
	case *cli.DurationFlag:
		return `a duration such as "90s"`
	}
	return "valid"
}

// section gives the flags of another command their values as that command
// would see them, its own command line being args. This is how a command that
// runs several stages makes the same Options as the stages' own commands.
func (s *session) section(cmd command, args ...string) (*cli.Context, error) {
	flags := cmd.flags()
	var c *cli.Context
	app := &cli.App{
		Flags: flags, HideHelp: true, HideVersion: true, DisableSliceFlagSeparator: true,
		Action: func(inner *cli.Context) error { c = inner; return nil },
	}
	if err := app.RunContext(s.flags.Context, append([]string{cmd.name}, args...)); err != nil {
		return nil, fmt.Errorf("section %s: %w", cmd.name, err)
	}
	if err := s.config.apply(c, cmd.name, flags); err != nil {
		return nil, err
	}
	return c, s.secretFlags(c, flags)
}

// parseSets reads --set SECTION.KEY=VALUE. A VALUE in brackets is a YAML list;
// the same key again replaces one value and adds to a list.
func parseSets(sets []string) (config.Settings, error) {
	all, out := schema(), config.Settings{}
	for _, text := range sets {
		path, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usage("write --set SECTION.KEY=VALUE", "--set %q has no value", text)
		}
		section, key, ok := strings.Cut(path, ".")
		if !ok {
			section, key = "", path
		}
		if err := checkKey("--set", section, key, all); err != nil {
			return nil, err
		}
		st := config.Setting{Values: []string{value}, Where: "--set"}
		if strings.HasPrefix(value, "[") {
			var list []string
			if err := yaml.Load([]byte(value), &list); err != nil {
				return nil, usage("", "--set %s: %q is not a list: %w", path, value, err)
			}
			st.Values, st.List = list, true
		}
		if before, ok := out[section][key]; ok && repeats(all[section], key) {
			st.Values = append(before.Values, st.Values...)
		}
		out.Add(section, key, st)
	}
	return out, nil
}

func repeats(flags []cli.Flag, name string) bool {
	f := flagNamed(flags, name)
	return f != nil && describe(f).repeats
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if f.Names()[0] == name {
			return f
		}
	}
	return nil
}

// checkKey refuses a section or key that does not exist.
func checkKey(where, section, key string, all map[string][]cli.Flag) error {
	if _, ok := all[section]; !ok {
		return usage(nearest(section, sections(all), "sections are "+strings.Join(sections(all), ", ")), "%s: there is no section %q", where, section)
	}
	known := keys(section, all)
	if slices.Contains(known, key) {
		return nil
	}
	if section == "" {
		known = append(known, sections(all)...)
		return usage(nearest(key, known, "see rollmill --help"), "%s: unknown key %q", where, key)
	}
	return usage(nearest(key, known, "see rollmill "+section+" --help"), "%s: unknown key %q in section %s", where, key, section)
}

func sections(all map[string][]cli.Flag) []string {
	var names []string
	for _, cmd := range commands() {
		if _, ok := all[cmd.name]; ok {
			names = append(names, cmd.name)
		}
	}
	if _, ok := all[validation]; ok {
		names = append(names, validation)
	}
	return names
}
