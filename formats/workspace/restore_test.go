package workspace

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tarOf returns an archive of entries, whatever they are.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		h.Size, h.ModTime, h.Format = int64(len(h.Uname)), time.Unix(0, 0), tar.FormatPAX // Uname is the content
		text := h.Uname
		h.Uname, h.Uid, h.Gid = "", os.Getuid(), os.Getgid()
		check(t, w.WriteHeader(&h))
		_, err := w.Write([]byte(text))
		check(t, err)
	}
	check(t, w.Close())
	return out.Bytes()
}

var hostile = map[string][]tar.Header{
	"leads out":             {{Name: "../x"}},
	"out of":                {{Name: "/etc/x"}},
	"out of the":            {{Name: "a/../../x"}},
	"the path leads":        {{Name: "a//x"}},
	"/link is no":           {{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/"}, {Name: "link/x"}},
	"/out is no":            {{Name: "out/x"}},
	"is no folder":          {{Name: "a/file/x"}},
	"not in order":          {{Name: "b"}, {Name: "a/x"}},
	"order":                 {{Name: "b"}, {Name: "b"}},
	"folder":                {{Name: "b", Typeflag: tar.TypeLink, Linkname: "../x"}},
	"no such file":          {{Name: "b", Typeflag: tar.TypeLink, Linkname: "a/nothing"}},
	"type '3'":              {{Name: "b", Typeflag: tar.TypeChar}},
	"more than the 1 paths": {{Name: "a/x", Mode: 0o644}, {Name: "b", Mode: 0o644}},
	"of the 1 paths":        {},
}

// A hostile archive changes nothing outside the folder, and is refused by name.
func TestRestoreRefuses(t *testing.T) {
	for want, headers := range hostile {
		under := t.TempDir()
		dir := filepath.Join(under, "in")
		write(t, filepath.Join(under, "x"), "outside")
		write(t, filepath.Join(dir, "a/file"), "1")
		check(t, os.Symlink("..", filepath.Join(dir, "out")))
		archive := tarOf(t, headers...)
		paths := int64(1)
		if !strings.Contains(want, "1 paths") {
			paths = int64(len(headers))
		}
		err := Restore(bytes.NewReader(archive), dir, int64(len(archive)), paths)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if text, err := os.ReadFile(filepath.Join(under, "x")); string(text) != "outside" {
			t.Errorf("%s: outside is %q, %v", want, text, err)
		}
	}
	archive := tarOf(t, tar.Header{Name: "a", Uname: strings.Repeat("x", 5000)})
	if err := Restore(bytes.NewReader(archive), t.TempDir(), 3000, 1); err == nil || !strings.Contains(err.Error(), "3000 bytes") {
		t.Error(err)
	}
}

// Whatever an archive is, restoring it ends, and nothing outside the folder is another.
func FuzzRestore(f *testing.F) {
	for _, headers := range hostile {
		f.Add(tarOf(f, headers...))
	}
	f.Add(tarOf(f, tar.Header{Name: "a", Typeflag: tar.TypeDir, Mode: 0o700}, tar.Header{Name: "a/x", Uname: "text", Mode: 0o600},
		tar.Header{Name: "b", PAXRecords: map[string]string{removedKey: "1"}}))
	f.Fuzz(func(t *testing.T, archive []byte) {
		under := t.TempDir()
		write(t, filepath.Join(under, "x"), "outside")
		write(t, filepath.Join(under, "in/b/c"), "1")
		err := Restore(bytes.NewReader(archive), filepath.Join(under, "in"), 1<<20, 100)
		if err == nil && len(archive) < 100 {
			t.Error("a hundred paths in nothing")
		}
		text, err := os.ReadFile(filepath.Join(under, "x"))
		entries, _ := os.ReadDir(under)
		if string(text) != "outside" || len(entries) != 2 {
			t.Errorf("outside is %q, %v, %v", text, err, entries)
		}
	})
}

// Whatever the container says, receiving it ends, and what is kept can be restored.
func FuzzReceive(f *testing.F) {
	for _, headers := range hostile {
		f.Add(tarOf(f, headers...))
	}
	f.Add(tarOf(f, tar.Header{Name: "a", Typeflag: tar.TypeDir, Mode: 0o4700}, tar.Header{Name: "a/x", Uname: "text", Mode: 0o600},
		tar.Header{Name: "b", Typeflag: tar.TypeLink, Linkname: "a/x"}, tar.Header{Name: "b", PAXRecords: map[string]string{leftKey: "why"}},
		tar.Header{Name: ".", PAXRecords: map[string]string{endKey: "1"}}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		a, archive := receive(t, stream, nil)
		if a.Digest == "" {
			if len(a.LeftOut) == 0 {
				t.Error("nothing was kept, and nothing says why")
			}
			return
		}
		dir := t.TempDir()
		err := Restore(bytes.NewReader(archive), dir, a.Size, a.Paths)
		if err != nil && !strings.Contains(err.Error(), "no folder") && !strings.Contains(err.Error(), "no such file") &&
			!strings.Contains(err.Error(), "name too long") && !strings.Contains(err.Error(), "invalid argument") && !strings.Contains(err.Error(), "not permitted") {
			t.Errorf("what was kept cannot be restored: %v", err)
		}
	})
}
