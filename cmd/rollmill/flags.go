package main

import (
	"cmp"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

// globalHeading is that of the flags that every command has.
const globalHeading = "Global flags"

// globals are the settings that every command has. Their flags may stand before
// the command or after it.
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
	d.Strings(&g.Sets, "set", "set `SECTION.KEY=VALUE` as the config file would")
	d.Strings(&g.Bases, "base", "read a dataset that the input was made from at this `URI`, for example when it moved to another bucket or endpoint")
	d.Bool(&g.JSON, "json", "print one JSON object on stdout instead of a URI")
	d.Bool(&g.Quiet, "quiet", "print no progress and no summary on stderr")
	plugin.Choice(d, &g.LogLevel, "log-level", "log messages of this `LEVEL` and above: debug, info, warn, error", "debug", "info", "warn", "error")
	plugin.Choice(d, &g.LogFormat, "log-format", "write stderr in this `FORMAT`: text or json", "text", "json")
	d.Bool(&g.Help, "help", "print help; with --backend, --agent or --reward also the flags of the plug-in")
}

// globalOptions are the options of all commands, at their defaults.
func globalOptions() []*option { return optionsOf(plugin.Declared(newGlobals())) }

// setGlobals makes the streams behave as asked.
func (s *streams) setGlobals(g *globals) error {
	s.json, s.quiet, s.logJSON = g.JSON, g.Quiet, g.LogFormat == "json"
	if err := s.level.UnmarshalText([]byte(g.LogLevel)); err != nil {
		return usage("", "--log-level: %w", err)
	}
	if s.quiet && s.level < slog.LevelWarn {
		s.level = slog.LevelWarn
	}
	return nil
}

// badValue is what package flag says of a value that it cannot read.
var badValue = regexp.MustCompile(`^(?s)invalid (?:boolean )?value (".*") for (?:flag )?-(.+?): (.*)`)

// flagError turns what the flag parser says into a usage error with a hint.
func flagError(err error, options []*option) error {
	var staged *stages.Error
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
		return usage("see --help", "--%s needs a value", strings.TrimPrefix(name, "-"))
	}
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return usage("", "%w", err)
	}
	name = strings.TrimPrefix(name, "-")
	if now, ok := renamed[name]; ok && optionNamed(options, now) != nil {
		return usage("write --"+now, "--%s is now --%s", name, now)
	}
	var names []string
	for _, o := range options {
		names = append(names, o.Name)
	}
	advice := plugin.Nearest(name, names, "")
	if advice != "" {
		advice = strings.Replace(advice, `"`, `"--`, 1)
	} else {
		advice = "see --help"
	}
	return usage(advice, "there is no flag --%s", name)
}

// renamed are flags and config keys that have another name now.
var renamed = map[string]string{
	"elsewhere":        "allow-other-trainer",
	"judge-at-once":    "judge-concurrency",
	"judge-max-cost":   "judge-budget-money",
	"judge-max-tokens": "judge-budget-tokens",
	"uses":             "depends-on",
	"workers":          "concurrency",
}
