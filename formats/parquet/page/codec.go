package page

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Codec is zstd level 1 with entropy-coded literals. parquet-go's own codec does
// not set WithAllLitEntropyCompression, and stores bytes without matches as they
// are.
type Codec struct{}

// An encoder keeps as much memory as the farthest match that it looks for, so
// that light pages have encoders of their own: they give the same bytes.
var (
	encoders      = encodersOf(4 << 20)
	smallEncoders = encodersOf(smallPage)
)

const smallPage = 1 << 20 // hardly a light page is longer

func encodersOf(window int) *sync.Pool {
	return &sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true),
			zstd.WithWindowSize(window),
			zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false),
			zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	}}
}

var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
}}

// Encode compresses src into the memory of dst.
func (Codec) Encode(dst, src []byte) ([]byte, error) {
	pool := encoders
	if len(src) <= smallPage {
		pool = smallEncoders
	}
	e := pool.Get().(*zstd.Encoder)
	defer pool.Put(e)
	return e.EncodeAll(src, dst[:0]), nil
}

// Decode fills at most the capacity of dst; more uncompressed data is an error.
func (Codec) Decode(dst, src []byte) ([]byte, error) {
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	return d.DecodeAll(src, dst[:0])
}
