package hfhub

import (
	"crypto/sha1" //nolint:gosec // git's name of a file's content
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
)

// File is a file to be committed.
type File struct {
	Path    string
	Size    int64
	SHA256  string // hex, of what Content gives
	Content io.ReaderAt
}

func (f File) reader() *io.SectionReader { return io.NewSectionReader(f.Content, 0, f.Size) }

// sample returns the beginning of the file, from which a store detects its kind.
func (f File) sample() ([]byte, error) {
	data := make([]byte, min(f.Size, 512))
	_, err := io.ReadFull(f.reader(), data)
	return data, err
}

// blob returns git's hash of the content.
func (f File) blob() (string, error) {
	sum := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(sum, "blob %d\x00", f.Size)
	_, err := io.Copy(sum, f.reader())
	return hex.EncodeToString(sum.Sum(nil)), err
}

func (f File) same(e Entry) (bool, error) {
	if e.LFS != nil {
		return e.LFS.OID == f.SHA256, nil
	}
	if e.Size != f.Size {
		return false, nil
	}
	blob, err := f.blob()
	return blob == e.OID, err
}

// Spool keeps a file on disk until it is sent: its size and digest are needed
// before its bytes, and a part may have to be sent again. It leaves nothing
// behind even when the process is killed, if the system allows that.
type Spool struct {
	file *os.File
	sum  hash.Hash
	size int64
}

// NewSpool makes an empty spool. Close it.
func NewSpool() (*Spool, error) {
	f, err := os.CreateTemp("", "rollmill-upload-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // an open file needs no name, and nothing is left if the process dies
	return &Spool{file: f, sum: sha256.New()}, nil
}

func (s *Spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.sum.Write(p[:n])
	s.size += int64(n)
	return n, err
}

func (s *Spool) Size() int64 { return s.size }

// SHA256 returns the digest of the bytes written so far, in hex.
func (s *Spool) SHA256() string { return hex.EncodeToString(s.sum.Sum(nil)) }

// File returns the bytes written so far, under a path.
func (s *Spool) File(path string) File {
	return File{Path: path, Size: s.size, SHA256: s.SHA256(), Content: s.file}
}

// Close frees the space.
func (s *Spool) Close() error {
	err := s.file.Close()
	_ = os.Remove(s.file.Name())
	return err
}
