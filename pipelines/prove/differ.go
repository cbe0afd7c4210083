package prove

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
	"unsafe" // finds columns in rows of any type, by their offsets

	"github.com/rollmill/rollmill/formats/schema"
)

// rounding is the relative difference up to which two numbers are equal: processors differ
// in the last digits.
const rounding = 1e-9

// differ returns the first column in which two rows differ, or nil.
func differ[T any](stored, made *T) *Difference {
	d := values(reflect.ValueOf(stored).Elem(), reflect.ValueOf(made).Elem())
	if d != nil {
		if id := reflect.ValueOf(stored).Elem().FieldByName("TrajectoryID"); id.IsValid() {
			d.TrajectoryID = id.String()
		}
	}
	return d
}

// values compares two values of one type. The column of the difference is relative to them.
func values(a, b reflect.Value) *Difference {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return unless(a.IsNil() == b.IsNil(), shown(a), shown(b))
		}
		return values(a.Elem(), b.Elem())
	case reflect.Interface: // of JSON, whose numbers are exact
		if x, y := a.Elem(), b.Elem(); x.Kind() == y.Kind() && (x.Kind() == reflect.Map || x.Kind() == reflect.Slice) {
			return values(x, y)
		}
	case reflect.Map:
		return members(a.Interface().(map[string]any), b.Interface().(map[string]any))
	case reflect.Slice:
		return lists(a, b)
	case reflect.Struct:
		if a.Type() != reflect.TypeFor[time.Time]() {
			return fields(a, b)
		}
	case reflect.Float32, reflect.Float64:
		x, y := a.Float(), b.Float()
		near := x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= rounding*max(math.Abs(x), math.Abs(y))
		return unless(near, x, y)
	}
	return unless(reflect.DeepEqual(a.Interface(), b.Interface()), shown(a), shown(b))
}

func members(a, b map[string]any) *Difference {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, y := a[key], b[key]
		if d := values(reflect.ValueOf(&x).Elem(), reflect.ValueOf(&y).Elem()); d != nil {
			return d.within(key)
		}
	}
	return nil
}

func lists(a, b reflect.Value) *Difference {
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return nil
	}
	for i := range min(a.Len(), b.Len()) {
		if d := values(a.Index(i), b.Index(i)); d != nil {
			return d.within(element(a.Index(i), i))
		}
	}
	return unless(a.Len() == b.Len(), fmt.Sprint(a.Len(), " values"), fmt.Sprint(b.Len(), " values"))
}

// fields compares the columns of two structs, without those that no digest covers, and
// the digest of others.
func fields(a, b reflect.Value) *Difference {
	for _, f := range schema.FieldsOf(a.Type()) {
		if f.Name == "payload_digest" || f.Volatile {
			continue
		}
		field := func(v reflect.Value) reflect.Value {
			return reflect.NewAt(f.Type, unsafe.Add(v.Addr().UnsafePointer(), f.Offset)).Elem()
		}
		if d := values(field(a), field(b)); d != nil {
			return d.within(f.Name)
		}
	}
	return nil
}

// element names an element of a list, by its name if it has one.
func element(v reflect.Value, i int) string {
	if v.Kind() == reflect.Struct {
		if name := v.FieldByName("Name"); name.IsValid() && !name.IsZero() {
			return fmt.Sprint(name)
		}
	}
	return fmt.Sprintf("[%d]", i)
}

// within puts the column below another.
func (d *Difference) within(outer string) *Difference {
	if outer != "" && d.Column != "" && d.Column[0] != '[' {
		outer += "."
	}
	d.Column = outer + d.Column
	return d
}

func unless(equal bool, stored, computed any) *Difference {
	if equal {
		return nil
	}
	return &Difference{Stored: stored, Computed: computed}
}

func shown(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return v.Interface()
}
