package examples

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

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
