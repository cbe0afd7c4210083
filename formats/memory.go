package formats

import "unsafe" // the one place of texts that share the memory of bytes

// Text returns bytes as text without a copy. They must not change any more.
func Text(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// Bytes returns a text as bytes without a copy. Nobody may change them.
func Bytes(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
