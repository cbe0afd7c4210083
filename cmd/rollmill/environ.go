package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

const variablePrefix = "ROLLMILL_"

// givenVariables are the variables that this program sets for the programs that
// it runs, which may in turn run rollmill.
var givenVariables = []string{
	"ROLLMILL_SANDBOX_URL", "ROLLMILL_TRAJECTORY_ID", "ROLLMILL_EXAMPLE_ID", "ROLLMILL_GENERATION", "ROLLMILL_EPOCH",
	"ROLLMILL_SEED", "ROLLMILL_TOOL", "ROLLMILL_REWARD",
}

// variables returns the environment variables that rollmill knows: those of all
// flags of all commands, of the config file and of keys, and givenVariables.
func variables() map[string]bool {
	known := map[string]bool{"ROLLMILL_CONFIG": true}
	for section, options := range schema() {
		for _, o := range options {
			if !slices.Contains(notKeys, o.Name) {
				known[variable(section, o.Name)] = true
			}
		}
	}
	for _, name := range shared {
		known[variable("", name)] = true
	}
	for _, name := range append(keyVariables(), givenVariables...) {
		known[name] = true
	}
	return known
}

// checkVariables looks for unknown variables with our prefix. A name within two
// letters of a known one, or one that begins with the name of a command, is a
// mistake that would silently change a run, so it is an error. Any other name may
// belong to another program, so it is a warning.
func (s *streams) checkVariables() error {
	var known map[string]bool
	for _, name := range slices.Sorted(slices.Values(s.environ)) {
		value, ok := s.lookup(name)
		if !strings.HasPrefix(name, variablePrefix) || !ok || value == "" {
			continue
		}
		if known == nil {
			known = variables()
		}
		if known[name] {
			continue
		}
		if now := renamedVariable(name); now != "" {
			return usage("set "+now, "environment: %s is now %s", name, now)
		}
		meant, distance := nearestVariable(name, known)
		switch section := sectionOf(name); {
		case distance <= 2:
			return usage("did you mean "+meant+"?", "environment: there is no variable %s", name)
		case section != "":
			hint := "`rollmill " + section + " --help` lists its flags; each has a variable"
			if distance < 6 {
				hint = "did you mean " + meant + "? " + hint
			}
			return usage(hint, "environment: there is no variable %s", name)
		}
		s.say("warning: rollmill does not use the environment variable %s", name)
	}
	return nil
}

// renamedVariable returns the new name of a renamed setting's variable, or "" if
// the variable was not renamed.
func renamedVariable(name string) string {
	for section := range schema() {
		for was, now := range renamed {
			if name == variable(section, was) {
				return variable(section, now)
			}
		}
	}
	return ""
}

// nearestVariable returns the known variable with the smallest edit distance,
// and that distance.
func nearestVariable(name string, known map[string]bool) (string, int) {
	best, least := "", len(name)
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if d := smetrics.WagnerFischer(name, k, 1, 1, 1); d < least {
			best, least = k, d
		}
	}
	return best, least
}

// sectionOf returns the command whose prefix a variable's name has, or "".
func sectionOf(name string) string {
	for section := range schema() {
		if section != "" && strings.HasPrefix(name, variable(section, "")) {
			return section
		}
	}
	return ""
}
