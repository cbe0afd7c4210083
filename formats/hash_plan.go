package formats

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe" // hashes fields of rows of any type, by their offsets

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/schema"
)

// plan describes how values of a type are encoded.
type plan struct {
	typ    reflect.Type
	kind   reflect.Kind
	fields []planField // of a struct
	elem   *plan       // of a pointer or a slice
	size   uintptr     // of a slice's element
	flat   bool        // a slice's elements are numbers, encoded as they are in memory
}

type planField struct {
	*plan
	off     uintptr
	word    uintptr // in the struct, zero when the field is absent; never when no word says so
	name    uint64  // hash of the column's name
	column  string
	payload bool

	rare bool // a group of columns, or a number or boolean in a nullable column, where zero is null
}

// wordOf returns the word of a field at off that is zero when the field is absent.
func (p *plan) wordOf(off uintptr) uintptr {
	switch p.kind {
	case reflect.String, reflect.Slice:
		return off + unsafe.Sizeof(off) // its length
	case reflect.Pointer:
		return off
	}
	return never
}

// scalar reports whether a value is a number or a boolean.
func (p *plan) scalar() bool {
	switch p.kind {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Struct:
		return false
	}
	return true
}

const never = ^uintptr(0)

var plans sync.Map // reflect.Type -> *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := newPlan(t)
	plans.Store(t, p)
	return p
}

// newPlan panics on a type that no row has, which is a bug in the program.
func newPlan(t reflect.Type) *plan {
	p := &plan{typ: t, kind: t.Kind()}
	switch p.kind {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Int, reflect.Float32, reflect.Float64,
		reflect.Uint8:
	case reflect.Pointer:
		p.elem = newPlan(t.Elem())
	case reflect.Slice:
		p.elem, p.size = newPlan(t.Elem()), t.Elem().Size()
		switch p.elem.kind {
		case reflect.Int32, reflect.Float32, reflect.Float64, reflect.Int64, reflect.Uint8:
			p.flat = true
		}
	case reflect.Struct:
		for _, f := range schema.FieldsOf(t) {
			if !f.Volatile {
				of := newPlan(f.Type)
				p.fields = append(p.fields,
					planField{of, f.Offset, of.wordOf(f.Offset), xxh3.HashString(f.Name), f.Name, f.Payload,
						of.kind == reflect.Struct || of.scalar() && f.Optional})
			}
		}
		slices.SortFunc(p.fields, func(a, b planField) int { return strings.Compare(a.column, b.column) })
	default:
		panic("formats: no digest for " + t.String())
	}
	return p
}
