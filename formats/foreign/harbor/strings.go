package harbor

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/rollmill/rollmill/storage/fault"
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	userName     = regexp.MustCompile(`^[A-Za-z0-9_][\w.-]*(:[A-Za-z0-9_][\w.-]*)?$`)
	imageName    = regexp.MustCompile(`^([\w.-]+(:\d+)?/)?[a-z0-9][\w.-]*(/[a-z0-9][\w.-]*)*(:\w[\w.-]*)?(@[a-z0-9]+:[0-9a-f]+)?$`)
	// transports are what Podman takes for a place of this machine before a colon.
	transports = []string{"containers-storage", "dir", "docker-archive", "docker-daemon", "oci", "oci-archive", "ostree", "sif", "tarball"}
)

// checkStrings refuses what a program of this machine could take for something else: an
// option, another line of a file, a path out of the container.
func (t Task) checkStrings(file string) error {
	bad := func(key, value, wanted string) error {
		return fault.Invalid(file, "it must be "+wanted, nil, "%s is %q", key, value)
	}
	before, _, _ := strings.Cut(t.Environment.Image, ":")
	switch e := t.Environment; {
	case strings.ContainsFunc(t.Name, unicode.IsControl):
		return bad("task.name", t.Name, "of one line")
	case e.Image != "" && (!imageName.MatchString(e.Image) || strings.HasPrefix(e.Image, "-") || slices.Contains(transports, before)):
		return bad("environment.docker_image", e.Image, "the name of an image in a registry, such as docker.io/library/debian:13")
	case e.Workdir != "" && (e.Workdir != path.Clean(e.Workdir) || strings.ContainsFunc(e.Workdir, unicode.IsControl)):
		return bad("environment.workdir", e.Workdir, "a path from /, without .. and without a / at its end")
	}
	for _, phase := range t.Phases() {
		if phase.User != "" && !userName.MatchString(phase.User) {
			return bad(phase.Key+".user", phase.User, "a name or a number, or two of them with a colon")
		}
		for _, name := range slices.Sorted(maps.Keys(phase.Env)) {
			if !variableName.MatchString(name) {
				return bad("a variable in "+phase.Key+".env", name, "of letters, digits and _")
			}
			if strings.Contains(phase.Env[name], "\x00") {
				return bad(phase.Key+".env."+name, phase.Env[name], "without the character NUL")
			}
		}
	}
	return nil
}

// NamedPhase is a phase with its key in task.toml.
type NamedPhase struct {
	Key string
	Phase
}

// Phases returns who has variables of their own, in the order in which they run.
func (t Task) Phases() []NamedPhase {
	return []NamedPhase{{"environment", Phase{Env: t.Environment.Env}}, {"agent", t.Agent}, {"solution", Phase{Env: t.Solution}}, {"verifier", t.Verifier}}
}

// Template reads a value of the form ${NAME} or ${NAME:-DEFAULT}, which stands for a
// variable of this machine.
func Template(value string) (name, otherwise string, has, is bool) {
	inner, opens := strings.CutPrefix(value, "${")
	inner, closes := strings.CutSuffix(inner, "}")
	name, otherwise, has = strings.Cut(inner, ":-")
	return name, otherwise, has, opens && closes
}
