package tensorboard

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// summary is the values of one step: a Summary of tensorflow.
type summary []byte

// scalar adds a number.
func (s *summary) scalar(tag string, v float64) {
	value := protowire.AppendFixed32(protowire.AppendTag(text(nil, 1, tag), 2, protowire.Fixed32Type),
		math.Float32bits(float32(v)))
	*s = message(*s, 1, value)
}

// text adds a text in Markdown.
func (s *summary) text(tag, markdown string) {
	tensor := number(nil, 1, stringType)
	tensor = message(tensor, 2, message(nil, 2, number(nil, 1, 1))) // a list of 1
	tensor = text(tensor, 8, markdown)
	value := message(text(nil, 1, tag), 8, tensor)
	*s = message(*s, 1, message(value, 9, message(nil, 1, text(nil, 1, "text")))) // of the plugin for texts
}

// buckets is how many a histogram has.
const buckets = 30

// histogram adds the distribution of finite numbers, of which there is at least one.
func (s *summary) histogram(tag string, list []float64) {
	low, high, sum, squares := slices.Min(list), slices.Max(list), 0.0, 0.0
	width := cmp.Or((high-low)/buckets, 1.0/buckets)
	var counts [buckets]float64
	for _, v := range list {
		sum, squares = sum+v, squares+v*v
		counts[min(buckets-1, int((v-low)/width))]++
	}
	var limits, n []byte
	for i, c := range counts {
		limits = protowire.AppendFixed64(limits, math.Float64bits(low+float64(i+1)*width))
		n = protowire.AppendFixed64(n, math.Float64bits(c))
	}
	var b []byte
	for i, v := range []float64{low, high, float64(len(list)), sum, squares} {
		b = double(b, protowire.Number(i+1), v)
	}
	b = message(message(b, 6, limits), 7, n)
	*s = message(*s, 1, message(text(nil, 1, tag), 5, b))
}

const stringType = 7 // DT_STRING

// event is an Event of tensorflow: a step with its values.
func event(at time.Time, step int64, s summary) []byte {
	return message(number(wall(at), 2, uint64(step)), 5, s)
}

// version is the event with which a file begins.
func version(at time.Time) []byte { return text(wall(at), 3, "brain.Event:2") }

func wall(at time.Time) []byte {
	return double(nil, 1, float64(at.UnixMicro())/1e6)
}

func double(b []byte, n protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), math.Float64bits(v))
}

func message(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func text(b []byte, n protowire.Number, v string) []byte {
	return message(b, n, []byte(strings.ToValidUTF8(v, "\uFFFD")))
}

func number(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record adds an event as a record of TFRecord: its length and itself, each with a
// checksum.
func record(b, event []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	b = binary.LittleEndian.AppendUint32(append(b, length...), masked(length))
	return binary.LittleEndian.AppendUint32(append(b, event...), masked(event))
}

// masked is the checksum of TFRecord, which differs from that of a record within the
// data.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
