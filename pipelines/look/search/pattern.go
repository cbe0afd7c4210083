package search

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// Pattern is what is looked for: a text as it is, without regard to case, or a regular expression
// (RE2), which has regard to case unless it says (?i).
type Pattern struct {
	re    *regexp.Regexp
	lower string // of a text; "" of a regular expression
}

// NewPattern returns a pattern, or a usage error for one that is no regular expression, or finds an empty text, and so every trajectory.
func NewPattern(text string, isRegexp bool) (_ *Pattern, err error) {
	p, expression := &Pattern{}, text
	if !isRegexp {
		p.lower, expression = strings.ToLower(text), "(?i)"+regexp.QuoteMeta(text)
	}
	if p.re, err = regexp.Compile(expression); err == nil && p.re.MatchString("") {
		err = fmt.Errorf("%q finds an empty text, and so every trajectory", text)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "search for one character or more; a regular expression has the syntax of RE2", "%w", err)
	}
	return p, nil
}

// in returns the text in which the pattern is found, and where; no place if it is not. Of JSON, in
// which characters may be escaped, that is the whole or one of its strings as it reads.
func (p *Pattern) in(text string) (in string, at []int) {
	if at = p.at(text); at != nil || text == "" || !strings.Contains(`{["`, text[:1]) || !strings.Contains(text, `\`) {
		return text, at
	}
	for rest, end := []byte(text), 0; at == nil; rest = rest[end:] {
		i := bytes.IndexByte(rest, '"')
		if end = jsontext.CheckString(rest, max(i, 0)); i < 0 || end < 0 {
			break
		}
		in = jsontext.Unquote(rest[i:end])
		at = p.at(in)
	}
	return in, at
}

// at returns where the pattern is in a text, nil if it is not. Lower case decides sooner than an expression.
func (p *Pattern) at(text string) []int {
	if p.lower != "" && !strings.Contains(strings.ToLower(text), p.lower) {
		return nil
	}
	return p.re.FindStringIndex(text)
}
