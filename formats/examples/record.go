package examples

import (
	"encoding/binary"
	"errors"

	"github.com/rollmill/rollmill/formats"
)

// record is a spooled row: an example, and what decides whether it is kept.
type record struct {
	formats.Example       // ID is "" when the row has none
	refusals        []int // filters that would refuse it
	at              span  // where it is spooled
}

// encode appends the record: numbers, then the lengths of the texts, then the
// texts.
func (r *record) encode(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(r.Row))
	b = binary.AppendUvarint(b, uint64(len(r.refusals)))
	for _, f := range r.refusals {
		b = binary.AppendUvarint(b, uint64(f))
	}
	texts := [...]string{r.ID, r.Question, r.Answer, r.GeneratedAnswer}
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
	}
	for _, t := range texts {
		b = append(b, t...)
	}
	return append(b, r.Fields...)
}

var errRecord = errors.New("a spooled example is damaged")

// decode reads a whole record. The record does not share memory with b.
func decode(b []byte) (record, error) {
	d := decoder{b: b}
	r := record{}
	r.Row = int(d.number())
	for range min(d.number(), uint64(len(d.b))) {
		r.refusals = append(r.refusals, int(d.number()))
	}
	var lengths [4]uint64
	for i := range lengths {
		lengths[i] = d.number()
	}
	for i, text := range []*string{&r.ID, &r.Question, &r.Answer, &r.GeneratedAnswer} {
		*text = string(d.take(lengths[i]))
	}
	r.Fields = append([]byte(nil), d.b...)
	return r, d.err
}

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.b, d.err = nil, errRecord
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.b, d.err = nil, errRecord
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}
