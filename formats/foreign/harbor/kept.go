package harbor

import (
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
)

// What is kept of an attempt's files, so that it fits beside its conversation.
const (
	MaxArtifacts     = 100
	MaxArtifactBytes = 1 << 20 // of one
	MaxKeptBytes     = 8 << 20 // of all
)

// Kept are the files of an attempt that its row gets.
type Kept struct {
	List []formats.Artifact
	Left int // bytes
}

// Add reads a file, and keeps its beginning, unless there are enough files or one of that name.
func (k *Kept) Add(name string, size int64, r io.Reader) error {
	if len(k.List) == MaxArtifacts || slices.ContainsFunc(k.List, func(a formats.Artifact) bool { return a.Name == name }) {
		return nil
	}
	data := make([]byte, min(size, MaxArtifactBytes, int64(k.Left)))
	n, err := io.ReadFull(r, data)
	if errors.Is(err, io.ErrUnexpectedEOF) { // it became shorter
		err = nil
	}
	data, k.Left = data[:n], k.Left-n
	whole := data
	for n := 0; n < utf8.UTFMax && int64(len(data)) < size && !utf8.Valid(whole); n++ { // a character was cut
		whole = data[:max(len(data)-n, 0)]
	}
	text := string(whole)
	if !utf8.Valid(whole) {
		text = "data:;base64," + base64.StdEncoding.EncodeToString(data)
	}
	k.List = append(k.List, formats.Artifact{Name: name, Bytes: size, Content: text})
	return err
}
