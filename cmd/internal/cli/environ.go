package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/xrash/smetrics"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
)

const variablePrefix = "ROLLMILL_"

// variables returns the environment variables that rollmill knows: those of all
// flags of all commands, of the config file and of keys, and the Variables of a.
func (a *App) variables() map[string]bool {
	known := map[string]bool{"ROLLMILL_CONFIG": true}
	for section, options := range a.schema() {
		for _, o := range options {
			if !slices.Contains(notKeys, o.Name) {
				known[variable(section, o.Name)] = true
			}
		}
	}
	for _, name := range a.Shared {
		known[variable("", name)] = true
	}
	for _, name := range append(a.keyVariables(), a.Variables...) {
		known[name] = true
	}
	return known
}

// checkVariables looks for unknown variables with our prefix. A name within two
// letters of a known one, or one that begins with the name of a command, is a
// mistake that would silently change a run, so it is an error. Any other name may
// belong to another program, so it is a warning.
func (a *App) checkVariables(s *terminal.Console) error {
	var known map[string]bool
	for _, name := range slices.Sorted(slices.Values(s.Environ)) {
		value, ok := s.Lookup(name)
		if !strings.HasPrefix(name, variablePrefix) || !ok || value == "" {
			continue
		}
		if known == nil {
			known = a.variables()
		}
		if known[name] {
			continue
		}
		meant, distance := nearestVariable(name, known)
		switch section := a.sectionOf(name); {
		case distance <= 2:
			return Usagef("did you mean "+meant+"?", "environment: there is no variable %s", name)
		case section != "":
			hint := "`rollmill " + section + " --help` lists its flags; each has a variable"
			if distance < 6 {
				hint = "did you mean " + meant + "? " + hint
			}
			return Usagef(hint, "environment: there is no variable %s", name)
		}
		s.Say("warning: rollmill does not use the environment variable %s", name)
	}
	return nil
}

// nearestVariable returns the known variable with the smallest edit distance, and that distance.
func nearestVariable(name string, known map[string]bool) (string, int) {
	best, distance := "", len(name)
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if d := smetrics.WagnerFischer(name, k, 1, 1, 1); d < distance {
			best, distance = k, d
		}
	}
	return best, distance
}

// sectionOf returns the command whose prefix a variable's name has, or "".
func (a *App) sectionOf(name string) string {
	for section := range a.schema() {
		if section != "" && strings.HasPrefix(name, variable(section, "")) {
			return section
		}
	}
	return ""
}
