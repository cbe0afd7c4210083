package records

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// columns yields the rows of a column map in the order of their indexes.
func (s File) columns(data []byte, yield func(Record) bool) error {
	columns, names, err := Fields(data)
	if err != nil {
		return fault.Invalid(s.Name, s.wantJSON(), err, "it cannot be read")
	}
	var order []string
	cells := map[string]map[string]json.RawMessage{}
	known := map[string]bool{}
	for _, name := range names {
		values, index, err := Fields(columns[name])
		if err != nil {
			return fault.Invalid(s.Name, s.wantJSON(), err, "column %q is not a map from row to value", name)
		}
		cells[name] = values
		for _, i := range index {
			if !known[i] {
				known[i] = true
				order = append(order, i)
			}
		}
	}
	slices.SortStableFunc(order, byNumber)
	for _, i := range order {
		var object jsontext.Object
		for _, name := range names {
			if v, ok := cells[name][i]; ok {
				object = append(object, jsontext.Member{Key: name, Raw: v})
			}
		}
		if !yield(Record{Object: object.Bytes()}) {
			break
		}
	}
	return nil
}

// byNumber compares indexes that are numbers by value, and leaves the order of
// others unchanged.
func byNumber(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX != nil || errY != nil {
		return 0
	}
	return cmp.Compare(x, y)
}
