package examples

import (
	"regexp"
	"strings"
)

// compile returns one regular expression for shell patterns (* ? [seq] [!seq]),
// for the whole value and case-sensitive. path.Match cannot be used: its *
// stops at a slash.
func compile(patterns []string) (*regexp.Regexp, error) {
	var alternatives []string
	for _, p := range patterns {
		alternatives = append(alternatives, translate(p))
	}
	if len(alternatives) == 0 {
		alternatives = []string{`[^\x00-\x{10FFFF}]`} // an empty list matches nothing
	}
	return regexp.Compile(`(?s)\A(?:` + strings.Join(alternatives, "|") + `)\z`)
}

func translate(pattern string) string {
	var b strings.Builder
	rest := []rune(pattern)
	for len(rest) > 0 {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '[':
			class, n := charClass(rest)
			b.WriteString(class)
			rest = rest[n:]
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

// charClass translates the text after a "[" and returns how much of it the
// class took. Without a closing "]" the bracket is literal.
func charClass(rest []rune) (string, int) {
	i, not := 0, ""
	if i < len(rest) && rest[i] == '!' {
		i, not = 1, "^"
	}
	first := i
	for i++; i < len(rest) && rest[i] != ']'; i++ {
	}
	if first >= len(rest) || i >= len(rest) {
		return `\[`, 0
	}
	var b strings.Builder
	for j, c := range rest[first:i] {
		if inner := j > 0 && first+j < i-1; c == '-' && inner {
			b.WriteRune('-')
			continue
		}
		b.WriteString(escapeInClass(c))
	}
	return "[" + not + b.String() + "]", i + 1
}

func escapeInClass(c rune) string {
	if strings.ContainsRune(`\]^-[&~`, c) {
		return `\` + string(c)
	}
	return string(c)
}
