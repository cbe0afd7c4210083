package parquet

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// codec is zstd level 1 with entropy-coded literals. parquet-go's own codec does
// not set WithAllLitEntropyCompression, and stores bytes without matches as they
// are. Pages in which a search for matches does not pay have packPlanes instead.
type codec struct{}

var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true),
		zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}}

var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
}}

func (codec) String() string                            { return "ZSTD" }
func (codec) CompressionCodec() format.CompressionCodec { return format.Zstd }

func (codec) Encode(dst, src []byte) ([]byte, error) {
	e := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(e)
	return e.EncodeAll(src, dst[:0]), nil
}

// Decode fills at most the capacity of dst; more uncompressed data is an error.
func (codec) Decode(dst, src []byte) ([]byte, error) {
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	return d.DecodeAll(src, dst[:0])
}
