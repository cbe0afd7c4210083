package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/plugin"
)

// keyVariables are the environment variables from which this program and its
// libraries read keys.
func (a *App) keyVariables() []string {
	names := slices.Clone(a.Keys)
	for _, cmd := range a.Commands {
		if settings, _ := cmd.fresh(); settings != nil {
			names = append(names, plugin.SecretVariables(settings)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// resolveSecrets reads keys from files and variables into the settings, and adds
// them and the secrets in other values to the known secrets. It includes plug-ins
// that are not chosen, because a receipt may choose one later.
func resolveSecrets(s *terminal.Console, settings plugin.Settings, options []*option) error {
	for _, o := range options {
		for _, x := range o.all {
			value, from, err := x.Resolve(s.Lookup)
			if err != nil {
				return Usagef("the file must hold only the key", "%w", err)
			}
			s.Secrets.Add(from, value)
		}
	}
	if settings != nil {
		for _, v := range plugin.Variables(settings) {
			text, _ := s.Lookup(v.Name)
			if v.Set(text); v.Secret {
				s.Secrets.Add(v.Name, text)
			}
			keysIn(s, v.Name, text, true)
		}
	}
	for _, name := range s.Environ { // programs inherit them, and may print them
		if text, _ := s.Lookup(name); strings.HasPrefix(name, "OTEL_") {
			keysIn(s, name, text, true)
		}
	}
	return secretOptions(s, options)
}

// knownSecrets returns the keys in the environment.
func (a *App) knownSecrets(lookup func(string) (string, bool)) *secret.Set {
	set := &secret.Set{}
	for _, name := range a.keyVariables() {
		if value, ok := lookup(name); ok {
			set.Add(name, value)
		}
	}
	return set
}

// secretOptions adds to the known secrets the values that options assign to names
// of secrets, and refuses URLs that hold a secret.
func secretOptions(s *terminal.Console, options []*option) error {
	for _, o := range options {
		if o.Prompt || o.Type != plugin.Text && o.Type != plugin.Object {
			continue
		}
		for _, text := range o.texts {
			if !o.Secret { // the user of a secret setting adds each value under its own name
				s.Secrets.AddAssigned(o.Name, text)
			}
			if err := addresses(s, o.Name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	address  = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>]+`)
	userInfo = regexp.MustCompile(`://([^/@\s:]*):([^/@\s]+)@`)
)

// keysIn adds the keys in the path of a URL to the known secrets, and reports whether there are
// any: parts that look like a key, and values of variables that are named like secrets.
func keysIn(s *terminal.Console, name, address string, random bool) (found bool) {
	_, rest, _ := strings.Cut(address, "://")
	_, path, _ := strings.Cut(rest, "/")
	for _, variable := range s.Environ {
		value, _ := s.Lookup(variable)
		if len(value) >= secret.Short && secret.Looks(variable) && strings.Contains(path, value) &&
			s.Secrets.Add(variable, value) {
			found = true
		}
	}
	return redaction.AddInPath(s.Secrets, name, address, random) || found
}

// addresses refuses a URL that holds a secret, except one in the path of an HTTP
// URL: gateways want keys there, so it is added to the known secrets. URLs of other
// schemes, such as a database's in a program's arguments, are allowed; their
// password is added to the known secrets.
func addresses(s *terminal.Console, flag, text string) error {
	for _, found := range address.FindAllString(text, -1) {
		scheme, _, _ := strings.Cut(found, "://")
		if !slices.Contains([]string{"http", "https", "s3", "gs", "azblob", "file", "mem"}, strings.ToLower(scheme)) {
			if m := userInfo.FindStringSubmatch(found); m != nil {
				s.Secrets.Add(flag, m[2])
			}
			continue
		}
		if err := secret.InURL(found); err != nil {
			return Usagef("give keys in the environment or in a file (see .github/SECURITY.md); URLs are written into rows "+
				"and manifests", "--%s: %w", flag, err)
		}
		stores := !strings.HasPrefix(strings.ToLower(scheme), "http")
		random := !stores && !strings.ContainsAny(text, " \t\n") // a word of a program may hold a commit or a digest
		if keysIn(s, flag, found, random) && stores {
			return Usagef("choose a path without a key: the addresses of datasets are written into other datasets",
				"--%s: the path of this %s URL holds a key", flag, scheme)
		}
	}
	return nil
}
