package secret

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Looks reports whether a variable, flag or parameter with this name holds a
// secret, as API_KEY, db-password and X-Amz-Signature do, and max_tokens,
// stop_token and API_KEY_FILE do not.
func Looks(name string) bool {
	words := jsontext.Words(name)
	if n := len(words); n > 1 && words[n-1] == "id" && words[n-2] == "key" {
		words = words[:n-1] // half of a key pair, but not the secret half
	}
	if len(words) == 0 {
		return false
	}
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch {
	case last == "token" && slices.Contains(vocabulary, before):
		return false
	case last == "string":
		return before == "connection"
	}
	return slices.Contains(secretWords, strings.TrimSuffix(last, "s")) || slices.Contains(lastWords, last)
}

// Member reports whether a member of JSON holds a secret: x-api-key, Authorization,
// set-cookie, access_token and headers do; max_tokens, tokenizer and signature do not,
// nor does a number, and nor does one character.
func Member(name string, value []byte) bool {
	const shortest = len(`"ab"`)
	if len(value) < shortest || value[0] != '"' && value[0] != '{' && value[0] != '[' {
		return false
	}
	return Names(name)
}

// Names reports whether a member with this name may hold a secret.
func Names(name string) bool { return secretNames.Of(name) }

var secretNames = jsontext.NewNames(func(name string) bool {
	words := jsontext.Words(name)
	if len(words) == 0 || slices.Contains(pointers, words[len(words)-1]) {
		return false // API_KEY_VAR is where the secret is
	}
	for i, word := range words {
		before := words[max(0, i-1)]
		switch single := strings.TrimSuffix(word, "s"); {
		case slices.Contains(secretWords, single), word == "headers", strings.Contains(strings.Join(words, ""), "apikey"):
			return true
		case i < len(words)-1:
		case word == "token":
			return !slices.Contains(vocabulary, before)
		case word == "tokens" && slices.Contains(ofKeys, before), single == "key" && slices.Contains(ofKeys, before):
			return true
		}
	}
	return false
})

var (
	// secretWords are those, also as plurals, of which one in the name of a member, or the last in that of a
	// variable, means a secret; lastWords do as the last of a variable's: members with them hold counts and ids.
	secretWords = []string{"authorization", "auth", "password", "passwd", "passphrase", "cookie", "credential", "secret", "bearer",
		"jwt", "accesstoken", "authtoken"}
	lastWords = []string{"key", "apikey", "token", "signature", "sig", "pat"}
	pointers  = []string{"var", "env", "file", "path", "name"}
	ofKeys    = []string{"api", "access", "refresh", "auth", "bearer", "secret", "private", "session", "service", "account",
		"subscription", "signing", "encryption", "ssh", "master"}
	// ... _token is one of a tokenizer's
	vocabulary = []string{"stop", "eos", "bos", "pad", "unk", "mask", "sep", "cls", "first", "last", "next", "max",
		"min", "per"}
)

// Guess reports whether a value looks like a secret, independent of its name:
// one word of letters and digits that is neither a number nor a path.
func Guess(value string) bool {
	return len(value) >= Short && !strings.ContainsAny(value, " \t\n/\\{}[]") && strings.ContainsAny(value, "0123456789") &&
		strings.ContainsFunc(value, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }) &&
		!number.MatchString(value)
}

var number = regexp.MustCompile(`^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$`)

// assigned matches values that a text assigns to names: --api-key X, TOKEN=X, "password": "X".
var assigned = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)["']?(?:\s*[=:]\s*|\s+)["']?([^\s"',;&}]+)`)

// AddAssigned adds the values that a flag's text assigns to names of secrets.
// It ignores values that do not look like secrets.
func (s *Set) AddAssigned(flag, text string) {
	for from := 0; from < len(text); {
		m := assigned.FindStringSubmatchIndex(text[from:])
		if m == nil {
			return
		}
		name, value := text[from+m[2]:from+m[3]], text[from+m[4]:from+m[5]]
		separator := text[from+m[3] : from+m[4]]
		spoken := strings.ContainsAny(separator, "=:") || strings.HasPrefix(text[:from+m[2]], "-") ||
			strings.Contains(text[:from+m[2]], " -")
		if Looks(name) && spoken && len(value) >= Short && !number.MatchString(value) {
			s.Add(flag, value)
		}
		from += m[3] // the value may be a name itself
	}
}

// InURL refuses an address that holds a secret: user information, or a
// parameter with the name of a secret. Clients take keys from the environment
// or from files.
func InURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		if strings.Contains(address, "@") {
			return errors.New("the URL is not valid, and may hold a password")
		}
		return nil // the caller that connects reports a better error
	}
	if u.User != nil {
		return fmt.Errorf("the URL of %q holds a user or a password", u.Host)
	}
	for name := range u.Query() {
		if Looks(name) {
			return fmt.Errorf("the URL of %q has the parameter %q, which looks like a secret", u.Host, name)
		}
	}
	return nil
}

// Environ returns this process's environment for the programs that it starts:
// without variables whose name is that of a secret, or whose value is an
// address with a password, except those in pass.
func Environ(pass ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		secret := Looks(name) && !slices.Contains(harmless, name) || withPassword.MatchString(value)
		return secret && !slices.Contains(pass, name)
	})
}

// harmless are variables that programs need: their names look like those of
// secrets, but they hold none.
var harmless = []string{"SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZERS_PARALLELISM"}

var withPassword = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://[^/@\s]*:[^/@\s]+@`)
