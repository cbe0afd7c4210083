package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/storage/fault"
)

// Order is what to sort by. Nulls are last in both directions, and rows with the same
// value keep their order.
type Order struct {
	By         string // a column, or an expression; "" for the order of the rows
	Descending bool
}

var columnName = regexp.MustCompile(`^[\w.-]+$`)

// OrderOf returns the order that a text says: a column, one after a minus for the
// greatest first, or an expression.
func OrderOf(text string) Order {
	if name, descending := strings.CutPrefix(text, "-"); descending && columnName.MatchString(name) {
		return Order{name, true}
	}
	return Order{By: text}
}

// String returns the text of an order.
func (o Order) String() string {
	if o.Descending {
		return "-" + o.By
	}
	return o.By
}

// key is what a row or a group is sorted by, ordered as an integer; nullKey for null.
type key func(i uint32) uint64

const (
	nullKey  = math.MaxUint64
	firstKey = 0xfff8 << 48 // of texts, after those of numbers
)

func (c *column) key() key {
	rank := textRanks(c.values)
	return func(i uint32) uint64 {
		if c.number != nil {
			if v := c.number(i); v == v { // not NaN
				return floatBits(v)
			}
		}
		if c.code != nil {
			if code := c.code(i); c.values[code] != "" {
				return firstKey + uint64(rank[code])
			}
		}
		return nullKey
	}
}

// floatBits returns a number as an integer with the same order.
func floatBits(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 and 0 are the same
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// textRanks returns the place of each text among all, sorted.
func textRanks(texts []string) []uint32 {
	order := ascending(uint32(len(texts)))
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(texts[a], texts[b]) })
	out := make([]uint32, len(texts))
	for place, i := range order {
		out[i] = uint32(place)
	}
	return out
}

func ascending(rows uint32) []uint32 {
	out := make([]uint32, rows)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

// sortedBy returns the column that an order sorts by, of the chosen rows or groups (nil: all).
func (l List) sortedBy(ctx context.Context, o Order, chosen set) (*column, error) {
	if c := l.column(o.By); c != nil {
		return c, nil
	}
	p, err := expression.Compile(o.By, l.fields)
	if err != nil {
		return nil, l.unordered(o, err)
	}
	values, texts := make([]float64, l.n), newCoded[string](0)
	codes := make([]uint32, l.n)
	texts.numberOf("")
	err = l.values(ctx, l.compiled(o.By, p), chosen, func(i uint32, v any) error {
		values[i] = math.NaN()
		switch v := v.(type) {
		case nil:
		case int:
			values[i] = float64(v)
		case int32:
			values[i] = float64(v)
		case float64:
			values[i] = v
		case string:
			codes[i] = texts.numberOf(v)
		default:
			return l.unordered(o, fmt.Errorf("a value of type %T has no order", v))
		}
		return nil
	})
	if bad := (*WhereError)(nil); errors.As(err, &bad) {
		err = l.unordered(o, fmt.Errorf("%s: %w", bad.Place, bad.Err))
	}
	at := func(i uint32) uint32 { return codes[i] }
	text := func(i uint32) string { return texts.values[codes[i]] }
	return &column{number: numbers(values).number, text: text, code: at, values: texts.values, absent: p.Absent()}, err
}

// notAbsent is the error of an order that read what no row has, nil if there is no such name.
func (l List) notAbsent(o Order, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return l.unordered(o, fmt.Errorf("no row has a value of %s", strings.Join(names, ", ")))
}

// unordered is the error of a list that cannot be sorted by an expression.
func (l List) unordered(o Order, err error) error {
	return fault.Errorf(fault.Usage, "name a column such as reward, or write an expression such as rewards.exact",
		"%s cannot be sorted by %q: %w", l.name, o.By, err)
}
