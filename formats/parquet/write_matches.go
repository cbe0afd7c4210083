package parquet

import (
	"encoding/binary"
	"sync"
)

// Token ids repeat where rows share a prompt, or an answer quotes one: there
// zstd's encoder finds long matches. Elsewhere it finds short ones, which take
// three times as long to write, and a third longer to read, as entropy-coded
// bytes that are a tenth larger. So a page of ids is searched for repeats first.

const (
	anchorEvery = 8  // values: the places that are looked up
	probeEvery  = 64 // values: how often anchorEvery adjacent places are compared with those before
	windowBytes = 16 // are compared
	anchorBits  = 13
)

type anchors [1 << anchorBits]uint32

var anchorTables = sync.Pool{New: func() any { return new(anchors) }}

// repeats reports whether more than an eighth of a page repeats what is before
// it. The page has values of size bytes, which begin at a place in data.
func repeats(data []byte, size int) bool {
	places := anchorTables.Get().(*anchors)
	defer anchorTables.Put(places)
	clear(places[:])
	probes, hits := 0, 0
	for at := 0; at+anchorEvery*size+windowBytes <= len(data); at += anchorEvery * size {
		if at%(probeEvery*size) == 0 {
			probes++
			for k := range anchorEvery {
				if places.has(data, at+k*size, at) {
					hits++
					break
				}
			}
		}
		places[anchorOf(data[at:])] = uint32(at)
	}
	return hits*8 > probes
}

// has reports whether the window at a place is one that begins before another place.
func (a *anchors) has(data []byte, at, before int) bool {
	from := int(a[anchorOf(data[at:])])
	return from < before && string(data[from:from+windowBytes]) == string(data[at:at+windowBytes])
}

func anchorOf(window []byte) uint64 {
	a, b := binary.LittleEndian.Uint64(window), binary.LittleEndian.Uint64(window[8:])
	return (a*0x9E3779B97F4A7C15 ^ b*0xC2B2AE3D27D4EB4F) * 0x9E3779B97F4A7C15 >> (64 - anchorBits)
}
