package workspace

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
)

// maxLeftOut is how many reasons are kept.
const maxLeftOut = 100

// receiver writes an archive anew.
type receiver struct {
	known *secret.Set
	spool *os.File
	out   *tar.Writer
	last  string          // path
	start int64           // of its entry; -1: it has none
	left  map[string]bool // paths that links may not lead to
	bytes int64
	all   error // why nothing is kept
	kept  formats.Workspace
}

// Receive reads what is printed in the container, and leaves the archive in an empty file. What it does not keep it
// names in LeftOut, beside what is there already. An error says that the file cannot be written: whatever comes from
// the container is none.
func Receive(in io.Reader, known *secret.Set, spool *os.File, w formats.Workspace) (formats.Workspace, error) {
	r := &receiver{known: known, spool: spool, out: tar.NewWriter(spool), left: map[string]bool{}, kept: w}
	for archive := tar.NewReader(in); r.all == nil; {
		h, err := archive.Next()
		if err != nil {
			r.all = fmt.Errorf("the container could not be read: %w", err)
		} else if end := h.PAXRecords[endKey]; end == whole {
			break
		} else if end != "" {
			r.all = errors.New(end)
		} else if err := r.entry(h, archive); err != nil {
			return w, err
		}
	}
	if r.all != nil {
		r.kept.Paths = 0
		r.kept.LeftOut = append(r.kept.LeftOut, r.known.Redact(r.all.Error()))
	} else if err := r.end(); err != nil {
		return w, err
	}
	slices.Sort(r.kept.LeftOut)
	left := slices.Compact(r.kept.LeftOut)
	if n := len(left) - maxLeftOut; n > 0 {
		left = append(left[:maxLeftOut], fmt.Sprintf("and %d more", n))
	}
	r.kept.LeftOut = left
	return r.kept, nil
}

func (r *receiver) end() error {
	sum := sha256.New()
	err := r.out.Close()
	if err == nil {
		_, err = r.spool.Seek(0, io.SeekStart)
	}
	if err == nil {
		r.kept.Size, err = io.Copy(sum, r.spool)
	}
	r.kept.Digest = hex.EncodeToString(sum.Sum(nil))
	return err
}

// note says of a path what is not kept, without secrets and in characters that show what they are.
func (r *receiver) note(name, why string) {
	quoted := strconv.Quote(r.known.Redact("/" + name + ": " + why))
	if len(r.kept.LeftOut) < 2*MaxPaths {
		r.kept.LeftOut = append(r.kept.LeftOut, quoted[1:len(quoted)-1])
	}
}

// entry takes an entry over. Its errors are those of the file.
func (r *receiver) entry(h *tar.Header, content io.Reader) error {
	if why := h.PAXRecords[leftKey]; why != "" {
		r.all = valid(h, "")
		return r.leave(h.Name, why)
	}
	r.bytes += h.Size
	if r.all = cmp.Or(valid(h, r.last), tooMuch(r.kept.Paths+1, r.bytes)); r.all != nil {
		return nil
	}
	r.last, r.start = h.Name, -1
	out := &tar.Header{Typeflag: h.Typeflag, Name: h.Name, Linkname: h.Linkname, Size: h.Size,
		Mode: h.Mode & 0o1777, Uid: h.Uid, Gid: h.Gid, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if h.PAXRecords[removedKey] != "" {
		out.PAXRecords = map[string]string{removedKey: "1"}
	}
	inName, inLink := r.holds(h.Name), r.holds(h.Linkname)
	switch {
	case inName != "":
		return r.leave(h.Name, "its name has the value of "+inName)
	case inLink != "":
		return r.leave(h.Name, "the path that it leads to has the value of "+inLink)
	case h.Typeflag == tar.TypeLink && r.left[h.Linkname]:
		return r.leave(h.Name, "a hard link to a file that is left out")
	case h.Mode&0o6000 != 0:
		r.note(h.Name, "its setuid or setgid bit")
	}
	return r.write(out, content)
}

// holds returns the name of a secret whose value is in a text.
func (r *receiver) holds(text string) string {
	search := r.known.NewSearch()
	_, _ = io.WriteString(search, text)
	return search.End()
}

func (r *receiver) write(h *tar.Header, content io.Reader) (err error) {
	if r.start, err = r.spool.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	if err := r.out.WriteHeader(h); err != nil {
		return err
	}
	search := r.known.NewSearch()
	n, err := io.Copy(io.MultiWriter(r.out, search), content)
	if n < h.Size { // the stream ended, which the next entry finds
		_, err = io.CopyN(r.out, zeros{}, h.Size-n)
	}
	if err = errors.Join(err, r.out.Flush()); err != nil {
		return err
	}
	r.kept.Paths++
	if found := search.End(); found != "" {
		return r.leave(h.Name, "it has the value of "+found)
	}
	return nil
}

// leave leaves a path out, also one that was just written.
func (r *receiver) leave(name, why string) error {
	r.note(name, why)
	r.left[name] = true
	if name != r.last || r.start < 0 {
		return nil
	}
	r.kept.Paths--
	_, err := r.spool.Seek(r.start, io.SeekStart)
	err = errors.Join(err, r.spool.Truncate(r.start))
	r.start = -1
	return err
}
