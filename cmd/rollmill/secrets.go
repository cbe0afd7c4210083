package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/plugin"
)

// storeKeys are the environment variables from which the libraries of object
// stores read keys.
var storeKeys = []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET"}

// keyVariables are the environment variables from which this program and its
// libraries read keys.
func keyVariables() []string {
	names := append([]string{"ROLLMILL_REWARD_API_KEY"}, storeKeys...)
	for _, cmd := range commands() {
		if settings, _ := cmd.fresh(); settings != nil {
			names = append(names, plugin.SecretVariables(settings)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settle fills in what is not in any text: keys from files and variables, which
// are secrets from now on; and makes known the secrets in the texts. Plug-ins that
// are not chosen yet have theirs, too: a receipt may choose one later.
func (s *streams) settle(settings plugin.Settings, options []*option) error {
	for _, o := range options {
		for _, x := range o.all {
			value, from, err := x.Resolve(s.lookup)
			if err != nil {
				return usage("the file holds the key and nothing else", "%w", err)
			}
			s.secrets.Add(from, value)
		}
	}
	if settings != nil {
		for _, v := range plugin.Variables(settings) {
			text, _ := s.lookup(v.Name)
			if v.Set(text); v.Secret {
				s.secrets.Add(v.Name, text)
			}
		}
	}
	return s.secretOptions(options)
}

// knownSecrets holds the keys in the environment.
func knownSecrets(lookup func(string) (string, bool)) *secret.Set {
	set := &secret.Set{}
	for _, name := range keyVariables() {
		if value, ok := lookup(name); ok {
			set.Add(name, value)
		}
	}
	return set
}

// secretOptions makes known what the options' texts give to names of secrets,
// and refuses addresses that hold one.
func (s *streams) secretOptions(options []*option) error {
	for _, o := range options {
		if o.Prompt || o.Type != plugin.Text && o.Type != plugin.Object {
			continue
		}
		for _, text := range o.texts {
			if !o.Secret { // whoever uses it makes each known by a name of its own
				s.secrets.AddAssigned(o.Name, text)
			}
			if err := s.addresses(o.Name, text); err != nil {
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

// addresses refuses an address that holds a secret. A program's words may have
// one of another kind (a database's), whose password then is a secret.
func (s *streams) addresses(flag, text string) error {
	for _, found := range address.FindAllString(text, -1) {
		scheme, _, _ := strings.Cut(found, "://")
		if !slices.Contains([]string{"http", "https", "s3", "gs", "azblob", "file", "mem"}, strings.ToLower(scheme)) {
			if m := userInfo.FindStringSubmatch(found); m != nil {
				s.secrets.Add(flag, m[2])
			}
			continue
		}
		if err := secret.InURL(found); err != nil {
			return usage("keys come from the environment or from a file (see .github/SECURITY.md); an address is written into rows and manifests", "--%s: %w", flag, err)
		}
	}
	return nil
}
