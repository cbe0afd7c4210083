package workspace

import (
	"archive/tar"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// packer writes what changed since a list was made.
type packer struct {
	tree
	out    *tar.Writer
	before *gob.Decoder
	next   listed // its path is "" at the end
	gone   string // the last path that was removed
	noted  string // the last mount that was

	names        map[[2]uint64]string // of files that have several, the first
	bytes, paths int64
}

// pack writes how the tree differs from a list of it, as Receive reads it. What keeps it from that it writes too.
func (t tree) pack(w io.Writer, list io.Reader) error {
	p := &packer{tree: t, out: tar.NewWriter(w), before: gob.NewDecoder(list), names: map[[2]uint64]string{}}
	err := p.advance()
	if err == nil {
		err = t.walk(p.visit)
	}
	for err == nil && p.next.Path != "" {
		err = p.removed()
	}
	end := whole
	if err != nil {
		end = err.Error()
	}
	return errors.Join(p.record(".", endKey, end), p.out.Close())
}

// advance reads the next entry of the list.
func (p *packer) advance() error {
	p.next = listed{}
	if err := p.before.Decode(&p.next); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// visit compares an entry with the list.
func (p *packer) visit(e entry) error {
	for p.next.Path != "" && order(p.next.Path, e.Path) < 0 {
		if err := p.removed(); err != nil {
			return err
		}
	}
	var was listed
	if p.next.Path == e.Path {
		was = p.next
		if err := p.advance(); err != nil {
			return err
		}
		if e.Mode.IsRegular() && e.Size == was.Size {
			e.digest()
		}
	}
	if e.Why != "" || was.Mode.Type() != e.Mode.Type() {
		p.gone = e.Path // what was in it is not known, or gone with it
	}
	switch {
	case e.listed == was && e.Why == "":
		return nil
	case was.Mount != "" || e.Mount != "":
		return p.note(cmp.Or(e.Mount, was.Mount))
	case e.Why != "":
		return p.record(e.Path, leftKey, e.Why)
	}
	return p.changed(e)
}

// removed records that the next path of the list is gone, unless it went with its folder or a mount hides it.
func (p *packer) removed() error {
	was := p.next
	if err := p.advance(); err != nil || p.gone != "" && isBelow(was.Path, p.gone) {
		return err
	}
	p.gone = was.Path
	if mount := cmp.Or(was.Mount, p.other("/"+was.Path)); mount != "" {
		return p.note(mount)
	}
	return p.entry(&tar.Header{Typeflag: tar.TypeReg, Name: was.Path, PAXRecords: map[string]string{removedKey: "1"}})
}

// note says once that what is in a mount changed.
func (p *packer) note(mount string) error {
	if mount == p.noted {
		return nil
	}
	p.noted = mount
	return p.record(mount[1:], leftKey, "what is in it ("+p.mounts[mount]+") changed")
}

// record writes an entry that stands for no path of the archive.
func (p *packer) record(path, key, text string) error {
	return p.out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Format: tar.FormatPAX,
		PAXRecords: map[string]string{key: text}})
}

func (p *packer) entry(h *tar.Header) error {
	p.paths, p.bytes, h.Format = p.paths+1, p.bytes+h.Size, tar.FormatPAX
	if err := tooMuch(p.paths, p.bytes); err != nil {
		return err
	}
	return p.out.WriteHeader(h)
}

func tooMuch(paths, bytes int64) error {
	switch {
	case paths > MaxPaths:
		return fmt.Errorf("more than %d paths", MaxPaths)
	case bytes > MaxBytes:
		return fmt.Errorf("more than %d bytes", MaxBytes)
	}
	return nil
}

// changed writes an entry that was added, or is not as it was.
func (p *packer) changed(e entry) error {
	h := &tar.Header{Name: e.Path, Mode: e.bits, Uid: int(e.UID), Gid: int(e.GID)}
	switch kind := e.Mode.Type(); {
	case kind == fs.ModeDir:
		h.Typeflag = tar.TypeDir
	case kind == fs.ModeSymlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Link
	case kind == 0 && p.names[e.inode] != "":
		h.Typeflag, h.Linkname = tar.TypeLink, p.names[e.inode]
	case kind == 0:
		return p.file(e, h)
	default:
		return p.record(e.Path, leftKey, cmp.Or(map[fs.FileMode]string{fs.ModeSocket: "a socket",
			fs.ModeNamedPipe: "a named pipe"}[kind], "a device"))
	}
	return p.entry(h)
}

// file writes a file. One that changes meanwhile is filled up, and left out.
func (p *packer) file(e entry, h *tar.Header) error {
	f, info, err := e.open()
	if err != nil {
		return p.record(e.Path, leftKey, reason(err))
	}
	defer f.Close()
	if h.Typeflag, h.Size = tar.TypeReg, info.Size(); e.Names > 1 {
		p.names[e.inode] = e.Path
	}
	if err := p.entry(h); err != nil {
		return err
	}
	n, err := io.Copy(p.out, io.LimitReader(f, h.Size))
	if now, failed := f.Stat(); err == nil && failed == nil && n == now.Size() && now.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if _, err := io.CopyN(p.out, zeros{}, h.Size-n); err != nil {
		return err
	}
	return p.record(e.Path, leftKey, "it changed while it was read")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
