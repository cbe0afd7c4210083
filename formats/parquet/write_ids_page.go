package parquet

import (
	"encoding/binary"
	"slices"
)

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
