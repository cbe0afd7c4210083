package cli

import (
	"cmp"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// globalHeading is the heading of the flags that every command has.
const globalHeading = "Global flags"

// globals are the settings that every command has. Their flags may come before
// or after the command.
type globals struct {
	Config    string
	Sets      []string
	Bases     []string
	JSON      bool
	Quiet     bool
	LogLevel  string
	LogFormat string
	Help      bool
}

func newGlobals() *globals { return &globals{LogLevel: "info", LogFormat: "text"} }

func (g *globals) Declare(d *plugin.Declarer) {
	d.Heading(globalHeading)
	d.String(&g.Config, "config", "read settings from this YAML `FILE`, a section per command")
	d.Strings(&g.Sets, "set", "set `SECTION.KEY=VALUE`, as the config file does")
	d.Strings(&g.Bases, "base", "read a dataset that the input was made from at this `URI`, such as after a move")
	d.Bool(&g.JSON, "json", "print one JSON object on stdout instead of a URI")
	d.Bool(&g.Quiet, "quiet", "print no progress and no summary on stderr")
	plugin.Choice(d, &g.LogLevel, "log-level", "log messages of this `LEVEL` and above: debug, info, warn, error", "debug",
		"info", "warn", "error")
	plugin.Choice(d, &g.LogFormat, "log-format", "write stderr in this `FORMAT`: text or json", "text", "json")
	d.Bool(&g.Help, "help", "print help; with --backend, --agent or --reward, the flags of that plug-in")
}

// globalOptions returns the global options, at their defaults.
func globalOptions() []*option { return optionsOf(plugin.Declared(newGlobals())) }

// setGlobals applies the global settings to the streams.
func setGlobals(s *terminal.Console, g *globals) error {
	s.JSON, s.Quiet, s.LogJSON = g.JSON, g.Quiet, g.LogFormat == "json"
	if err := s.Level.UnmarshalText([]byte(g.LogLevel)); err != nil {
		return Usagef("", "--log-level: %w", err)
	}
	if s.Quiet && s.Level < slog.LevelWarn {
		s.Level = slog.LevelWarn
	}
	return nil
}

// badValue matches the error of package flag for a value that it cannot parse.
var badValue = regexp.MustCompile(`^(?s)invalid (?:boolean )?value (".*") for (?:flag )?-(.+?): (.*)`)

// flagError converts an error of the flag parser to a usage error with a hint;
// otherwise is the hint if nothing better is known.
func (a *App) flagError(cmd Command, err error, otherwise string, options []*option) error {
	var staged *fault.Error
	if errors.As(err, &staged) {
		return err
	}
	if m := badValue.FindStringSubmatch(err.Error()); m != nil {
		if o := optionNamed(options, m[2]); o != nil {
			text, quoted := strconv.Unquote(m[1])
			if quoted != nil {
				text = m[1]
			}
			return o.refused("--"+o.Name, text, cmp.Or(o.bad, errors.New(m[3])))
		}
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag needs an argument: -"); ok {
		return Usagef(otherwise, "--%s needs a value", strings.TrimPrefix(name, "-"))
	}
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return Usagef("", "%w", err)
	}
	name = strings.TrimPrefix(name, "-")
	names := each(options, func(o *option) string { return o.Name })
	near := strings.Replace(plugin.Nearest(name, names, ""), `"`, `"--`, 1)
	all := a.schema()
	if section := a.sectionWith(name, "", all); section != "" && cmd.readsConfig() {
		near = "write --set " + section + "." + name + "=" + cmp.Or(optionNamed(all[section], name).Placeholder(), "true")
	} else if section != "" && near == "" {
		near = "`rollmill " + section + "` has it"
		if cmd.Args != "" {
			near += ", and this is `" + cmd.synopsis() + "`"
		}
	}
	return Usagef(cmp.Or(near, otherwise), "there is no flag --%s", name)
}
