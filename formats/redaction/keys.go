package redaction

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/secret"
)

// key is a detector of keys. Each of its literals is searched for, and the pattern is
// matched from it. The key is the match, or the pattern's group "key".
type key struct {
	name     string // of rows that follow one another: one detector
	help     string // in the first row of a detector
	literals []string
	after    func(text string, at int) bool // whether a key may begin at at
	pattern  *regexp.Regexp
	check    func(body string) bool                   // of the pattern's last group; nil: none is needed
	find     func(text string, at int) (from, to int) // in place of a pattern; from is -1 without a key
}

// keys are the detectors of keys. Where two find the same place, the first gives the name.
var keys = []key{
	{"anthropic", "API keys of Anthropic", []string{"sk-ant-"}, begins, from(`sk-ant-([\w-]{20,})`), random, nil},
	{"openai", "API keys of OpenAI and of services that copy their form", []string{"sk-"}, begins, from(`sk-([\w-]{20,})`), random, nil},
	{"aws", "access key ids and secret access keys of AWS", []string{"AKIA", "ASIA"}, begins,
		from(`(?P<key>A[KS]IA[0-9A-Z]{16})(?:[^0-9A-Za-z]|$)`), func(id string) bool { return !strings.HasSuffix(id, example) }, nil},
	{"aws", "", []string{"cret_access_key", "cretAccessKey", "CRET_ACCESS_KEY"}, anywhere,
		from(`(?i:cret_?access_?key)_?["'\\ \t:=>]{1,12}(?P<key>[A-Za-z0-9+/][A-Za-z0-9+/=]{39})(?:[^A-Za-z0-9+/=]|$)`), noExample, nil},
	{"github", "tokens of GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, begins, from(`gh._(\w{30,})`), random, nil},
	{"github", "", []string{"github_pat_"}, begins, from(`github_pat_(\w{22,})`), random, nil},
	{"huggingface", "tokens of Hugging Face", []string{"hf_", "api_org_"}, begins, from(`(?:hf|api_org)_[0-9A-Za-z]{30,}`), nil, nil},
	{"slack", "tokens and webhooks of Slack", []string{"xox"}, begins, from(`xox[abcdeoprs][-.]([\w.-]{10,})`), hasDigit, nil},
	{"slack", "", []string{"xapp-"}, begins, from(`xapp-([\w-]{20,})`), random, nil},
	{"slack", "", []string{"hooks.slack.com/services/"}, anywhere, from(`hooks\.slack\.com/services/(?P<key>[A-Za-z0-9+/=]{20,})`), nil, nil},
	{"google", "API keys, client secrets and access tokens of Google", []string{"AIza", "GOCSPX-"}, begins,
		from(`(?:AIza[\w-]{35,}|GOCSPX-[\w-]{20,})`), nil, nil},
	{"google", "", []string{"ya29."}, begins, from(`ya29\.([\w.-]{20,})`), random, nil},
	{"private-key", "private keys in PEM or PGP blocks", []string{"-----BEGIN "}, anywhere, nil, nil, privateKey},
	{"jwt", "JSON web tokens", []string{"eyJ"}, begins, nil, nil, jsonWebToken},
	{"authorization", "tokens after Bearer, and base64 of user:password after Basic", []string{"earer ", "EARER "}, afterB,
		from(`\w+ +(?P<key>[\w.~+/=-]{16,})`), hasDigit, nil},
	{"authorization", "", []string{"asic "}, afterB, from(`\w+ +(?P<key>[A-Za-z0-9+/=]{8,})`), userAndPassword, nil},
	{"url-password", "passwords in URLs", []string{"://"}, afterScheme,
		from("://[^:/?#\"'`<>\\\\\\s]*:(?P<key>[^/?#\"'`<>\\\\\\s]*)@"), func(p string) bool { return !placeholder(p) }, nil},
}

// from compiles a pattern that is matched at a place.
func from(pattern string) *regexp.Regexp { return regexp.MustCompile("^" + pattern) }

// scanLimit is how far a key is looked at before it counts as one: many prefixes in a
// row must not each be followed to the end of a long text.
const scanLimit = 512

// around returns the bounds of the key around a literal at at; from is -1 without one.
func (k *key) around(text string, at int) (from, to int) {
	if !k.after(text, at) {
		return -1, 0
	}
	if k.find != nil {
		return k.find(text, at)
	}
	near := text[at:min(len(text), at+2*scanLimit)]
	m := k.pattern.FindStringSubmatchIndex(near)
	if m == nil || k.check != nil && !k.check(near[m[len(m)-2]:m[len(m)-1]]) {
		return -1, 0
	}
	if m[1] == len(near) && len(near) < len(text)-at { // it is longer
		m = k.pattern.FindStringSubmatchIndex(text[at:])
	}
	if group := k.pattern.SubexpIndex("key"); group > 0 {
		m = m[2*group:]
	}
	return at + m[0], at + m[1]
}

func anywhere(string, int) bool { return true }

// afterB reports whether the word is Bearer or Basic, whose literals leave out the first
// letter: these are rarer.
func afterB(text string, at int) bool {
	return at > 0 && strings.IndexByte("bB", text[at-1]) >= 0 && begins(text, at-1)
}

// afterScheme reports whether a URL's scheme is before at, and an @ somewhere after it.
func afterScheme(text string, at int) bool {
	return at > 0 && alphanumeric(text[at-1]) && strings.IndexByte(text[at:min(len(text), at+2*scanLimit)], '@') >= 0
}

func hasDigit(body string) bool { return strings.ContainsAny(body, "0123456789") }

// example is in the keys of AWS's documentation.
const example = "EXAMPLE"

func noExample(body string) bool { return !strings.Contains(body, example) }

// class is a set of bytes.
type class [256]bool

func classOf(more string) *class {
	c := &class{}
	for b := range 256 {
		c[b] = alphanumeric(byte(b)) || strings.IndexByte(more, byte(b)) >= 0
	}
	return c
}

var (
	word     = classOf("_")
	dashed   = classOf("_-")
	standard = classOf("+/=")
)

// near returns the end of the run of a class from at, within scanLimit bytes.
func (c *class) near(text string, at int) int { return c.run(text[:min(len(text), at+scanLimit)], at) }

// run returns the end of the longest run of a class from at.
func (c *class) run(text string, at int) int {
	for at < len(text) && c[text[at]] {
		at++
	}
	return at
}

// minRun is the length of a part of a key without a hyphen or underscore:
// names in code and styles have shorter words.
const minRun = 12

// random reports whether a text has a digit, a letter and a long run of both.
func random(text string) bool {
	run, longest, digit, letter := 0, 0, false, false
	for i := range len(text) {
		c := text[i]
		if run++; !alphanumeric(c) {
			run = 0
		}
		longest = max(longest, run)
		digit = digit || isDigit(c)
		letter = letter || alphanumeric(c) && !isDigit(c)
	}
	return longest >= minRun && digit && letter
}

// The longest header of a block of a private key, the longest block, and how
// soon it has a line of data of which length: a mention of the header in code is
// no key.
const (
	maxHeader = 64
	maxBlock  = 32 << 10
	maxBefore = 1 << 10
	minLine   = 40
)

// block are the bytes of a PEM block that is cut off, whose line ends may be escaped.
var block = classOf("+/= \t\r\n\\:,.()-")

func privateKey(text string, at int) (int, int) {
	begin := at + len("-----BEGIN ")
	head := strings.Index(text[begin:min(len(text), begin+maxHeader)], "-----")
	if head < 0 || !strings.Contains(text[begin:begin+head], "PRIVATE KEY") {
		return -1, 0
	}
	begin += head + len("-----")
	rest := text[begin:min(len(text), begin+maxBlock)]
	label := strings.Index(rest, "-----END ")
	if label < 0 {
		label = len(rest)
	}
	if longest(rest[:min(label, maxBefore)], standard) < minLine {
		return -1, 0
	}
	if label == len(rest) { // it is cut off
		return at, block.run(text, begin)
	}
	end := begin + label + len("-----END ")
	if tail := strings.Index(text[end:min(len(text), end+maxHeader)], "-----"); tail >= 0 {
		end += tail + len("-----")
	}
	return at, end
}

func longest(text string, of *class) (n int) {
	for at := 0; at < len(text); at++ {
		end := of.run(text, at)
		n = max(n, end-at)
		at = end
	}
	return n
}

// maxPart is how far the first part of a token is followed, before more of it is
// known to be a token; later ones are 16 times as long.
const maxPart = 2 << 10

func jsonWebToken(text string, at int) (int, int) {
	end := at
	for part := range 3 {
		if part > 0 {
			if end >= len(text) || text[end] != '.' {
				return -1, 0
			}
			end++
		}
		from := end
		if end = dashed.run(text[:min(len(text), from+maxPart<<(4*part))], from); end-from < 10 {
			return -1, 0
		}
	}
	end = dashed.run(text, end)
	for end < len(text) && text[end] == '.' && dashed.run(text, end+1)-end > 10 { // encrypted ones have five parts
		end = dashed.run(text, end+1)
	}
	return at, end
}

// userAndPassword reports whether a text is the base64 of user:password.
func userAndPassword(text string) bool {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	_, password, has := strings.Cut(string(data), ":")
	return err == nil && has && password != "" && utf8.Valid(data) &&
		!strings.ContainsFunc(string(data), func(r rune) bool { return r < ' ' })
}

// placeholder reports whether a password is one of documentation, or a variable
// that is filled in later.
func placeholder(password string) bool {
	return secret.IsPlaceholder(password) || strings.ContainsAny(password[:1], "$<{[%*") ||
		strings.HasPrefix(strings.ToLower(password), "pass")
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// begins reports whether a word may begin at at: no letter, digit or underscore
// is before it, except that of an escaped line end or tab in JSON within text.
func begins(text string, at int) bool {
	if at == 0 || !word[text[at-1]] {
		return true
	}
	return at >= 2 && text[at-2] == '\\' && strings.IndexByte("nrtbf", text[at-1]) >= 0
}
