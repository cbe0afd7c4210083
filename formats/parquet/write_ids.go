package parquet

import (
	"encoding/binary"
	"slices"
)

// ids is the distinct numbers of a chunk, in the order of their first occurrence.
// They are token ids: a few ten thousand of them, and below a million.
//
// Their indexes are packed into whole bytes. Packed into as few bits as possible
// they are no smaller once they are compressed, and a prompt that is repeated
// would not be found: it would begin at another bit.
type ids struct {
	values []int32
	small  []int32         // place of a value below len(small), plus 1; 0 for none
	other  map[int32]int32 // the same, of all other values
}

func (d *ids) reset() {
	for _, v := range d.values {
		if uint32(v) < uint32(len(d.small)) {
			d.small[v] = 0
		}
	}
	d.values, d.other = d.values[:0], nil
}

// added returns the place of a value, plus 1, and adds it if it is new.
func (d *ids) added(v int32) int32 {
	if at := d.place(v); at > 0 {
		return at
	}
	d.add(v)
	return int32(len(d.values))
}

// place returns the place of a value, plus 1.
func (d *ids) place(v int32) int32 {
	if uint32(v) < uint32(len(d.small)) {
		return d.small[v]
	}
	return d.other[v]
}

func (d *ids) add(v int32) {
	d.values = append(d.values, v)
	if uint32(v) >= smallIDs {
		if d.other == nil {
			d.other = map[int32]int32{}
		}
		d.other[v] = int32(len(d.values))
		return
	}
	if int(v) >= len(d.small) {
		d.small = append(make([]int32, 0, min(smallIDs, 2*int(v)+1<<12)), d.small...)
		d.small = d.small[:cap(d.small)]
	}
	d.small[v] = int32(len(d.values))
}

// smallIDs bounds the table of places; larger vocabularies are not known.
const smallIDs = 1 << 20

// encode appends the page of some values to data, and adds the new ones.
func (d *ids) encode(data []byte, values []int32) []byte {
	from, eights := len(data), (len(values)+7)/8
	width := 2
	for len(d.values) > 1<<(8*width) {
		width++
	}
	for ; ; width++ {
		data = append(data[:from], byte(8*width))
		data = binary.AppendUvarint(data, uint64(eights)<<1|1) // one run of packed values
		head := len(data)
		data = extended(data, 8*eights*width)
		if out := data[head:]; width == 2 {
			d.pack(out, values)
		} else {
			d.packWide(out, values, width)
		}
		if len(d.values) <= 1<<(8*width) {
			return data
		}
	}
}

// pack writes the indexes of values in two bytes each, and adds new values.
func (d *ids) pack(out []byte, values []int32) {
	for i, v := range values {
		var at int32
		if uint32(v) < uint32(len(d.small)) {
			at = d.small[v]
		}
		if at == 0 {
			at = d.added(v)
		}
		binary.LittleEndian.PutUint16(out[2*i:], uint16(at-1))
	}
}

// packWide is pack for any width; the values are known.
func (d *ids) packWide(out []byte, values []int32, width int) {
	for i, v := range values {
		at := d.added(v) - 1
		for k := range width {
			out[i*width+k] = byte(at >> (8 * k))
		}
	}
}

// extended returns s with n more bytes, which are zero.
func extended(s []byte, n int) []byte {
	s = slices.Grow(s, n)[:len(s)+n]
	clear(s[len(s)-n:])
	return s
}
