package formats

import (
	"reflect"
	"unsafe" // values of generated types, by the offsets of their fields
)

// Unknown is the part of a row in columns for which its type has no field: a
// newer minor version of the schema wrote the file. A row keeps it, so that
// digests cover it and writers write it again.
type Unknown struct {
	Columns UnknownColumns
	At      unsafe.Pointer // to a value of Columns.Type
}

// UnknownColumns describes the unknown columns of a file.
type UnknownColumns interface {
	// Type is a struct of only the unknown columns. A list or group in which
	// only some columns are unknown is a list or group of these.
	Type() reflect.Type
}

// Carrier is a row that keeps its unknown columns, as every kind of row does.
type Carrier interface {
	// Unknown returns nil for a row that has none.
	Unknown() *Unknown
	SetUnknown(*Unknown)
}

// Carried is embedded in rows and makes them Carriers.
type Carried struct {
	Beyond *Unknown `parquet:"-" json:"-"`
}

// Unknown implements Carrier.
func (c *Carried) Unknown() *Unknown { return c.Beyond }

// SetUnknown implements Carrier.
func (c *Carried) SetUnknown(u *Unknown) { c.Beyond = u }

// Value returns the unknown columns as a pointer to a struct.
func (u *Unknown) Value() any { return reflect.NewAt(u.Columns.Type(), u.At).Interface() }

// NewUnknown returns unknown columns for a row that are all null: its lists
// have as many elements there as in the row.
func NewUnknown(columns UnknownColumns, row any) *Unknown {
	v := reflect.New(columns.Type())
	p, q := planOf(reflect.TypeOf(row).Elem()), planOf(columns.Type())
	p.shape(reflect.ValueOf(row).UnsafePointer(), q, v.UnsafePointer())
	return &Unknown{columns, v.UnsafePointer()}
}

// Fits reports whether the lists of a row have as many elements in its unknown
// columns as in the others.
func (u *Unknown) Fits(row any) bool {
	p, q := planOf(reflect.TypeOf(row).Elem()), planOf(u.Columns.Type())
	return p.fits(reflect.ValueOf(row).UnsafePointer(), q, u.At)
}

// TakeUnknown copies the unknown columns within one column from another row,
// for a row whose column was set to that of the other row.
func TakeUnknown(row Carrier, column string, from Carrier) {
	u := row.Unknown()
	if u == nil {
		return
	}
	typ := u.Columns.Type()
	planOf(reflect.TypeOf(row).Elem()).shared(planOf(typ), func(a, b *planField) bool {
		if a.column != column {
			return true
		}
		own := reflect.New(typ) // rows of a page share the old one
		own.Elem().Set(reflect.NewAt(typ, u.At).Elem())
		target := reflect.NewAt(b.typ, unsafe.Add(own.UnsafePointer(), b.off)).Elem()
		if theirs := from.Unknown(); theirs == nil || !theirs.copyTo(target, column) {
			a.shape(unsafe.Add(reflect.ValueOf(row).UnsafePointer(), a.off), b, unsafe.Add(own.UnsafePointer(), b.off))
		}
		row.SetUnknown(&Unknown{u.Columns, own.UnsafePointer()})
		return false
	})
}

// copyTo sets a field to the value of a column, and reports whether it could.
func (u *Unknown) copyTo(field reflect.Value, column string) bool {
	for _, f := range planOf(u.Columns.Type()).fields {
		if f.column == column && f.typ == field.Type() {
			field.Set(reflect.NewAt(f.typ, unsafe.Add(u.At, f.off)).Elem())
			return true
		}
	}
	return false
}

// shared calls f with the fields that both structs have: groups of columns and
// lists of them. It stops when f returns false.
func (p *plan) shared(q *plan, f func(a, b *planField) bool) bool {
	for i, j := 0, 0; i < len(p.fields) && j < len(q.fields); {
		a, b := &p.fields[i], &q.fields[j]
		switch {
		case a.column < b.column:
			i++
		case a.column > b.column:
			j++
		default:
			if !f(a, b) {
				return false
			}
			i, j = i+1, j+1
		}
	}
	return true
}

func (p *plan) fits(at unsafe.Pointer, q *plan, qAt unsafe.Pointer) bool {
	return p.shared(q, func(a, b *planField) bool {
		at, qAt := unsafe.Add(at, a.off), unsafe.Add(qAt, b.off)
		if a.kind != reflect.Slice {
			return a.fits(at, b.plan, qAt)
		}
		s, t := *(*[]byte)(at), *(*[]byte)(qAt) // for their addresses and lengths
		for i := range s {
			if i == len(t) || !a.elem.fits(element(s, i, a.size), b.elem, element(t, i, b.size)) {
				return false
			}
		}
		return len(s) == len(t)
	})
}

func (p *plan) shape(at unsafe.Pointer, q *plan, qAt unsafe.Pointer) {
	p.shared(q, func(a, b *planField) bool {
		a.shape(unsafe.Add(at, a.off), b, unsafe.Add(qAt, b.off))
		return true
	})
}

func (f *planField) shape(at unsafe.Pointer, b *planField, qAt unsafe.Pointer) {
	if f.kind != reflect.Slice {
		f.plan.shape(at, b.plan, qAt)
		return
	}
	s := *(*[]byte)(at)
	reflect.NewAt(b.typ, qAt).Elem().Set(reflect.MakeSlice(b.typ, len(s), len(s)))
	t := *(*[]byte)(qAt)
	for i := range s {
		f.elem.shape(element(s, i, f.size), b.elem, element(t, i, b.size))
	}
}

func element(s []byte, i int, size uintptr) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), uintptr(i)*size)
}

// both encodes a struct in which some fields are known and others unknown, in
// the order of all their names.
func (h *hasher) both(p *plan, at unsafe.Pointer, q *plan, qAt unsafe.Pointer, of part) {
	takes := func(f *planField) bool { return of == everything || f.payload == (of == onlyPayload) }
	i, j := 0, 0
	for i < len(p.fields) || j < len(q.fields) {
		switch {
		case j == len(q.fields) || i < len(p.fields) && p.fields[i].column < q.fields[j].column:
			if f := &p.fields[i]; takes(f) {
				h.field(f, unsafe.Add(at, f.off))
			}
			i++
		case i == len(p.fields) || q.fields[j].column < p.fields[i].column:
			if f := &q.fields[j]; takes(f) {
				h.field(f, unsafe.Add(qAt, f.off))
			}
			j++
		default:
			if a, b := &p.fields[i], &q.fields[j]; takes(a) {
				h.shared(a, unsafe.Add(at, a.off), b, unsafe.Add(qAt, b.off))
			}
			i, j = i+1, j+1
		}
	}
	h.uint(0)
}

// shared encodes a field that has known and unknown columns.
func (h *hasher) shared(a *planField, at unsafe.Pointer, b *planField, qAt unsafe.Pointer) {
	if a.absent(at) {
		return
	}
	from := len(h.buf)
	h.uint(a.name)
	if a.kind != reflect.Slice {
		h.both(a.plan, at, b.plan, qAt, everything)
		h.dropEmpty(from)
		return
	}
	s, t := *(*[]byte)(at), *(*[]byte)(qAt)
	h.uint(uint64(len(s)))
	for i := range s {
		if i < len(t) { // else the row does not fit, and readers refuse it
			h.both(a.elem, element(s, i, a.size), b.elem, element(t, i, b.size), everything)
		}
	}
}
