package stages

import (
	"context"
	"strings"

	"github.com/rollmill/rollmill/formats/secret"
)

// Variable reads NAME=VALUE, or NAME alone, whose value the environment has unless ok is false. A value that looks
// like a secret is added to the secrets of ctx.
func Variable(ctx context.Context, variable string, env func(string) (string, bool)) (name, value string, ok bool) {
	if name, value, ok = strings.Cut(variable, "="); !ok {
		value, ok = env(name)
	}
	if ok && (secret.Looks(name) || secret.Guess(value)) {
		secret.From(ctx).Add(name, value)
	}
	return name, value, ok
}

// EnvParams returns what an identity holds of KEY=VALUE variables: a digest of
// each value. A variable with a secret's name is held by name alone, because
// replacing one key by another gives the same rows.
func EnvParams(env []string) map[string]string {
	out := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if out[name] = "secret"; !secret.Looks(name) {
			out[name] = SlowDigest(name, value)
		}
	}
	return out
}
