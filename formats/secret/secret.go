// Package secret keeps secret values out of what Rollmill writes: rows,
// journals, manifests, the ledger, receipts, errors and logs.
//
// A Set holds the secret values that a process was given: keys from environment
// variables and key files, values that the config file expands from the
// environment, the values of --agent-env. cmd/rollmill fills it and puts it
// into the context (With); code that writes takes it from there (From) and
// calls Redact, JSON or Value. A nil Set has no values and changes nothing.
//
// A value is replaced by [redacted:NAME]. Values of at least 8 characters are
// found anywhere, also escaped as in JSON or a URL; shorter ones only where no
// letter, digit, hyphen or underscore is next to them, since a few letters are
// part of many words. Values of fewer than 4 characters, and the words that
// people write where a key is required but not needed (EMPTY, none), are not
// secrets.
package secret

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Short is the length below which a value is found as a whole word only.
	Short     = 8
	minLength = 4 // the length of the shortest secret
)

// Set is the secret values of a process. It is safe for concurrent use, and
// values may be added while others read.
type Set struct {
	mu       sync.Mutex
	found    atomic.Pointer[matcher]
	settings atomic.Pointer[matcher] // found, and the values that the config file expanded
	replaced atomic.Int64
}

// With returns a context in which writers redact the values of s.
func With(ctx context.Context, s *Set) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns the set of a context, nil if it has none.
func From(ctx context.Context) *Set {
	s, _ := ctx.Value(contextKey{}).(*Set)
	return s
}

type contextKey struct{}

// placeholders are keys that are not secret.
var placeholders = []string{"empty", "none", "null", "true", "false", "test", "default", "dummy", "rollmill",
	"policy", "token",
	"secret", "password", "local", "ollama", "vllm", "sglang", "openai", "api_key", "api-key", "apikey",
	"not-needed", "no-key",
	"no-key-required", "sk-no-key-required", "sk-no-key", "unused", "changeme", "placeholder"}

func IsPlaceholder(value string) bool {
	return len(value) < minLength || slices.Contains(placeholders, strings.ToLower(value))
}

// Add adds a value under a name, usually the environment variable that it came
// from. It ignores lines around the value. It reports whether the value counts
// as a secret.
func (s *Set) Add(name, value string) bool {
	value = strings.TrimSpace(value)
	if s == nil || IsPlaceholder(value) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := patternsOf(s.found.Load(), name, value, asWord)
	s.found.Store(newMatcher(known))
	s.settings.Store(newMatcher(patternsOf(s.settings.Load(), name, value, asWord)))
	return true
}

// AddExpanded adds a value that the config file took from a variable. Such a
// value is redacted in every stored setting (Settings). Elsewhere it is a
// secret when the variable has the name of a secret, or when the value looks
// like one and is not public, as the name of a model or of the run is.
func (s *Set) AddExpanded(name, value string, public bool) {
	if s == nil || strings.TrimSpace(value) == "" {
		return
	}
	if Looks(name) || Guess(value) && !public {
		s.Add(name, value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.Store(newMatcher(patternsOf(s.settings.Load(), name, value, asWhole)))
}

// Settings returns a set that also has the values that the config file
// expanded. It is for settings only: in a row, such a value may have another
// meaning.
func (s *Set) Settings() *Set {
	if s == nil {
		return nil
	}
	out := &Set{}
	out.found.Store(s.settings.Load())
	return out
}

// patternsOf adds a value's spellings to a matcher; short is where a short value is looked for.
func patternsOf(m *matcher, name, value string, short place) []pattern {
	var all []pattern
	if m != nil {
		all = m.patterns
	}
	where := anywhere
	if len(value) < Short {
		where = short
	}
	for _, text := range spellings(value) {
		if !slices.ContainsFunc(all, func(p pattern) bool { return p.text == text }) {
			all = append(slices.Clip(all), pattern{text, Mark(name), where})
		}
	}
	return all
}

// Mark returns the replacement for a value with a name.
func Mark(name string) string { return markBegin + name + "]" }

const markBegin = "[redacted:"

// spellings returns the forms in which a value may be in a text.
func spellings(value string) []string {
	out := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	if data, err := json.Marshal(value); err == nil {
		out = append(out, string(data[1:len(data)-1]))
	}
	plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value)
	return append(out, plain, strings.ReplaceAll(plain, "/", `\/`))
}

// Replaced returns how many values were replaced in rows and records so far; it
// does not count those in errors and logs.
func (s *Set) Replaced() int64 {
	if s == nil {
		return 0
	}
	return s.replaced.Load()
}

// Known reports whether the set has any value.
func (s *Set) Known() bool { return s != nil && s.found.Load() != nil }

// Redact returns a text without the values. It returns the same string when
// there is nothing to replace.
func (s *Set) Redact(text string) string {
	text, _ = s.redact(text)
	return text
}

// redact also returns how many values it replaced.
func (s *Set) redact(text string) (string, int) {
	if s == nil {
		return text, 0
	}
	m := s.found.Load()
	if m == nil || len(text) < m.shortest {
		return text, 0
	}
	text, n := m.redact(text)
	if plain := unescaped(text); len(plain) < len(text) {
		if again, more := m.redact(plain); more > 0 {
			return again, n + more
		}
	}
	return text, n
}

// escaped is a backslash, or a character that JSON may escape and need not.
var escaped = regexp.MustCompile(`\\\\|\\u00[2-7][0-9a-fA-F]`)

// unescaped returns a text with those characters as themselves.
func unescaped(text string) string {
	if !strings.Contains(text, `\u00`) {
		return text
	}
	return escaped.ReplaceAllStringFunc(text, func(found string) string {
		c, err := strconv.ParseUint(found[len(found)-2:], 16, 8)
		if err != nil || c == '"' || c == '\\' || c > '~' {
			return found
		}
		return string(rune(c))
	})
}

// pattern is one spelling of a value.
type pattern struct {
	text, mark string
	where      place
}

// place is where a pattern is looked for.
type place int8

const (
	anywhere place = iota
	asWord         // with no part of a word next to it
	asWhole        // as the whole text
)

func newMatcher(patterns []pattern) *matcher {
	m := &matcher{patterns: slices.SortedFunc(slices.Values(patterns), func(a, b pattern) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})}
	m.longest = len(m.patterns[0].text)
	m.shortest = len(m.patterns[len(m.patterns)-1].text)
	m.lines = !slices.ContainsFunc(m.patterns, func(p pattern) bool { return strings.Contains(p.text, "\n") })
	return m
}
