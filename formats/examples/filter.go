package examples

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// filter is the patterns of one column.
type filter struct {
	column string
	list   string // "allow" or "deny"
	match  *regexp.Regexp
}

func newFilters(name string, o Options) ([]filter, error) {
	var out []filter
	for _, l := range []struct {
		name    string
		columns map[string][]string
	}{{"allow", o.Allow}, {"deny", o.Deny}} {
		for _, column := range slices.Sorted(maps.Keys(l.columns)) {
			match, err := compile(l.columns[column])
			if err != nil {
				return nil, fault.Invalid(name, "patterns are as the shell's: * ? [seq] [!seq]", err,
					"the %s filter of column %q", l.name, column)
			}
			out = append(out, filter{column, l.name, match})
		}
	}
	return out, nil
}

// refusals returns the filters, by index, that would refuse a row. A row
// without the column is matched as empty text. If the whole file lacks the
// column, the filter is ignored, which is known only at the end.
func refusals(filters []filter, values map[string]json.RawMessage) []int {
	var out []int
	for i, f := range filters {
		if f.match.MatchString(filterText(values[f.column])) != (f.list == "allow") {
			out = append(out, i)
		}
	}
	return out
}

// refusedBy returns the first of these filters whose column exists.
func (p *picker) refusedBy(refusals []int) string {
	for _, i := range refusals {
		if f := p.filters[i]; p.columns[f.column] {
			return fmt.Sprintf("%s filter on %q", f.list, f.column)
		}
	}
	return ""
}

// filterText returns a value as filters match it: as written, and booleans as
// Python writes them in the harness's filters.
func filterText(v json.RawMessage) string {
	switch t := jsontext.AnyText(v); {
	case string(v) == "true":
		return "True"
	case string(v) == "false":
		return "False"
	default:
		return t
	}
}

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
