package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats/secret"
)

// keyVariables are the environment variables from which this program and its
// libraries read keys.
var keyVariables = []string{
	"ROLLMILL_API_KEY", "ROLLMILL_JUDGE_API_KEY", "ROLLMILL_REWARD_API_KEY", "ROLLMILL_AGENT_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY",
	"NEMO_API_KEY", "NEMO_DATASTORE_TOKEN", "HF_TOKEN", "WANDB_API_KEY",
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET",
}

// knownSecrets holds the keys in the environment.
func knownSecrets(lookup func(string) (string, bool)) *secret.Set {
	set := &secret.Set{}
	for _, name := range keyVariables {
		if value, ok := lookup(name); ok {
			set.Add(name, value)
		}
	}
	return set
}

// prompts are flags whose text is for a model, and may show any address.
var prompts = []string{"system", "user", "request", "stop-match"}

// secretFlags makes known what the flags' texts give to names of secrets, and
// refuses addresses that hold one.
func (s *streams) secretFlags(c *cli.Context, flags []cli.Flag) error {
	for _, f := range flags {
		name := f.Names()[0]
		if !c.IsSet(name) || slices.Contains(prompts, name) {
			continue
		}
		var texts []string
		switch f.(type) {
		case *cli.StringFlag:
			texts = []string{c.String(name)}
		case *cli.StringSliceFlag:
			texts = c.StringSlice(name)
		}
		for _, text := range texts {
			if name != "agent-env" { // agentEnv knows each by its name
				s.secrets.AddAssigned(name, text)
			}
			if err := s.addresses(name, text); err != nil {
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

// agentEnv completes variables that are named without a value, and keeps the
// values that look like secrets out of everything.
func (s *session) agentEnv(given []string) ([]string, error) {
	var out []string
	for _, variable := range given {
		name, value, ok := strings.Cut(variable, "=")
		if !ok {
			if value, ok = s.lookup(name); !ok {
				return nil, usage("write --agent-env NAME=VALUE, or set it in the environment", "--agent-env %q is not set", name)
			}
		}
		if secret.Looks(name) || secret.Guess(value) {
			s.secrets.Add(name, value)
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}
