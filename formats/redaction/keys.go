package redaction

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats/secret"
)

// key is a detector of keys. Each of its literals is searched for; find returns
// the bounds of the key around a literal at at, and from is -1 when there is none.
type key struct {
	name     string
	help     string
	literals []string
	find     func(text string, at int) (from, to int)
}

// keys are the detectors of keys. Where two find the same place, the first
// gives the name.
var keys = []key{
	{"anthropic", "API keys of Anthropic", []string{"sk-ant-"}, prefixed("sk-ant-", dashed, 20)},
	{"openai", "API keys of OpenAI and of services that copy their form", []string{"sk-"}, prefixed("sk-", dashed, 20)},
	{"aws", "access key ids and secret access keys of AWS",
		[]string{"AKIA", "ASIA", "cret_access_key", "cretAccessKey", "CRET_ACCESS_KEY"}, awsKey},
	{"github", "tokens of GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, githubKey},
	{"huggingface", "tokens of Hugging Face", []string{"hf_", "api_org_"}, huggingFaceKey},
	{"slack", "tokens and webhooks of Slack", []string{"xox", "xapp-", "hooks.slack.com/services/"}, slackKey},
	{"google", "API keys, client secrets and access tokens of Google", []string{"AIza", "GOCSPX-", "ya29."}, googleKey},
	{"private-key", "private keys in PEM or PGP blocks", []string{"-----BEGIN "}, privateKey},
	{"jwt", "JSON web tokens", []string{"eyJ"}, jsonWebToken},
	{"authorization", "tokens after Bearer, and base64 of user:password after Basic", []string{"earer ", "EARER ", "asic "},
		authorization},
	{"url-password", "passwords in URLs", []string{"://"}, urlPassword},
}

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
	letters  = classOf("")
	word     = classOf("_")
	dashed   = classOf("_-")
	standard = classOf("+/=")
	token    = classOf("._~+/=-")
	dotted   = classOf("._-")
)

// scanLimit is how far a key is looked at before it counts as one: many prefixes in a
// row must not each be followed to the end of a long text.
const scanLimit = 512

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

// prefixed finds a prefix and at least minLength bytes of a class, among them a
// digit and a long run of letters and digits.
func prefixed(prefix string, of *class, minLength int) func(string, int) (int, int) {
	return func(text string, at int) (int, int) {
		begin := at + len(prefix)
		end := of.near(text, begin)
		if !begins(text, at) || end-begin < minLength || !random(text[begin:end]) {
			return -1, 0
		}
		return at, of.run(text, end)
	}
}

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

// example ends the keys in the documentation of AWS.
const example = "EXAMPLE"

func awsKey(text string, at int) (int, int) {
	rest := text[at:]
	if strings.HasPrefix(rest, "AKIA") || strings.HasPrefix(rest, "ASIA") {
		end := letters.near(text, at)
		if !begins(text, at) || end-at != 20 || strings.ToUpper(rest[:20]) != rest[:20] ||
			strings.HasSuffix(rest[:20], example) {
			return -1, 0
		}
		return at, end
	}
	name := at + len("cretAccessKey")
	if strings.IndexByte(rest[:min(len(rest), len("cret_access_key"))], '_') >= 0 {
		name = at + len("cret_access_key")
	}
	from := name
	for from < len(text) && from-name < 12 && strings.IndexByte("\"'\\ \t:=>", text[from]) >= 0 {
		from++
	}
	end := standard.near(text, from)
	if from == name || end-from != 40 || strings.Contains(text[from:end], example) {
		return -1, 0
	}
	return from, end
}

func githubKey(text string, at int) (int, int) {
	if strings.HasPrefix(text[at:], "github_pat_") {
		return prefixed("github_pat_", word, 22)(text, at)
	}
	return prefixed(text[at:at+4], word, 30)(text, at)
}

func huggingFaceKey(text string, at int) (int, int) {
	prefix := "hf_"
	if text[at] == 'a' {
		prefix = "api_org_"
	}
	end := letters.run(text, at+len(prefix)) // its letters may be without a digit
	if !begins(text, at) || end-at-len(prefix) < 30 {
		return -1, 0
	}
	return at, end
}

func slackKey(text string, at int) (int, int) {
	rest := text[at:]
	switch {
	case rest[0] == 'h':
		begin := at + len("hooks.slack.com/services/")
		if end := standard.run(text, begin); end-begin >= 20 {
			return begin, end
		}
		return -1, 0
	case strings.HasPrefix(rest, "xapp-"):
		return prefixed("xapp-", dashed, 20)(text, at)
	case len(rest) > 4 && strings.IndexByte("abcdeoprs", rest[3]) >= 0 && (rest[4] == '-' || rest[4] == '.'):
		end := dotted.near(text, at+5)
		if !begins(text, at) || end-at < 15 || !strings.ContainsAny(text[at+5:end], "0123456789") {
			return -1, 0
		}
		return at, dotted.run(text, end)
	}
	return -1, 0
}

func googleKey(text string, at int) (int, int) {
	if text[at] == 'y' {
		return prefixed("ya29.", dotted, 20)(text, at)
	}
	shortest := 39
	if text[at] == 'G' {
		shortest = 27
	}
	end := dashed.run(text, at)
	if !begins(text, at) || end-at < shortest {
		return -1, 0
	}
	return at, end
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

// block are the bytes of a PEM block that is cut off, whose line ends may be
// escaped.
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

// longest returns the length of the longest run of a class.
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
	if !begins(text, at) {
		return -1, 0
	}
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

const minToken = 16

func authorization(text string, at int) (int, int) {
	if at == 0 || strings.IndexByte("bB", text[at-1]) < 0 || !begins(text, at-1) {
		return -1, 0
	}
	from := at + strings.IndexByte(text[at:], ' ')
	for from < len(text) && text[from] == ' ' {
		from++
	}
	if text[at] == 'a' {
		end := standard.run(text, from)
		if end-from < 8 || !userAndPassword(text[from:end]) {
			return -1, 0
		}
		return from, end
	}
	end := token.run(text, from)
	if end-from < minToken || !strings.ContainsAny(text[from:end], "0123456789") {
		return -1, 0
	}
	return from, end
}

// userAndPassword reports whether a text is the base64 of user:password.
func userAndPassword(text string) bool {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	_, password, has := strings.Cut(string(data), ":")
	return err == nil && has && password != "" && utf8.Valid(data) &&
		!strings.ContainsFunc(string(data), func(r rune) bool { return r < ' ' })
}

// maxUserInfo is the length of a user and a password in a URL.
const maxUserInfo = 1024

// urlPassword finds SCHEME://USER:PASSWORD@.
func urlPassword(text string, at int) (int, int) {
	if at == 0 || !alphanumeric(text[at-1]) {
		return -1, 0
	}
	begin := at + len("://")
	rest := text[begin:min(len(text), begin+maxUserInfo)]
	if end := strings.IndexAny(rest, "/?#\"'`<>\\ \t\r\n"); end >= 0 {
		rest = rest[:end]
	}
	last := strings.LastIndexByte(rest, '@')
	if last < 0 {
		return -1, 0
	}
	user, password, has := strings.Cut(rest[:last], ":")
	if !has || placeholder(password) {
		return -1, 0
	}
	from := begin + len(user) + 1
	return from, begin + last
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
