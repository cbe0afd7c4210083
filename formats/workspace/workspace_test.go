package workspace

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/secret"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a folder that stands for a container, and what was listed of it.
type world struct {
	dir  string
	list bytes.Buffer
}

func newWorld(t testing.TB, fill func(dir string)) *world {
	w := &world{dir: t.TempDir()}
	fill(w.dir)
	check(t, tree{roots: []string{w.dir}}.list(&w.list))
	return w
}

// pack packs what changed since, and keeps it.
func (w *world) pack(t testing.TB, known *secret.Set) (formats.Workspace, []byte) {
	t.Helper()
	var out bytes.Buffer
	check(t, tree{roots: []string{w.dir}}.pack(&out, bytes.NewReader(w.list.Bytes())))
	return receive(t, out.Bytes(), known)
}

func receive(t testing.TB, stream []byte, known *secret.Set) (formats.Workspace, []byte) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	check(t, err)
	defer f.Close()
	a, err := Receive(bytes.NewReader(stream), known, f, formats.Workspace{})
	check(t, err)
	data, err := os.ReadFile(f.Name())
	check(t, err)
	return a, data
}

// restored restores an archive over what the world was, and returns what is there.
func (w *world) restored(t testing.TB, a formats.Workspace, archive []byte, fill func(dir string)) string {
	t.Helper()
	under := t.TempDir()
	dir := filepath.Join(under, w.dir)
	check(t, os.MkdirAll(dir, 0o755))
	fill(dir)
	check(t, Restore(bytes.NewReader(archive), under, a.Size, a.Paths))
	return shown(t, dir)
}

// shown returns all that a workspace has of a folder.
func shown(t testing.TB, dir string) string {
	var out strings.Builder
	check(t, tree{roots: []string{dir}}.walk(func(e entry) error {
		if e.Mode.IsRegular() {
			e.digest()
		}
		if name := strings.TrimPrefix("/"+e.Path, dir); name != "" {
			fmt.Fprintf(&out, "%q %s %d:%d %d %x %q %v\n", name, e.Mode, e.UID, e.GID, e.Size, e.Sum, e.Link, e.Names > 1)
		}
		return nil
	}))
	return out.String()
}

func write(t testing.TB, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(text), 0o644))
}

// Whatever was changed, what is restored over the files as they were is what was packed. Times say nothing: all are
// set back.
func TestRestoredIsWhatWasPacked(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			fill := func(dir string) { change(t, rand.New(rand.NewPCG(seed, 1)), dir, 40) }
			w := newWorld(t, fill)
			change(t, rand.New(rand.NewPCG(seed, 2)), w.dir, 60)
			check(t, filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type()&fs.ModeSymlink == 0 {
					err = os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0))
				}
				return err
			}))
			a, archive := w.pack(t, nil)
			if len(a.LeftOut) > 0 || a.Digest == "" {
				t.Fatal(a)
			}
			links := strings.NewReplacer(" true\n", "\n", " false\n", "\n") // a name that moved from another is a file of its own
			got, want := links.Replace(w.restored(t, a, archive, fill)), links.Replace(shown(t, w.dir))
			if got != want {
				t.Errorf("restored:\n%s\npacked:\n%s", got, want)
			}
			again, _ := w.pack(t, nil)
			if again.Digest != a.Digest {
				t.Error("the same files have two digests")
			}
		})
	}
}

// change makes random changes below a folder, and through no link outside of it.
func change(t testing.TB, r *rand.Rand, dir string, n int) {
	names := []string{"a", "b", "a.b", "a-b", "a b", "é", "\xff\xfe", "line\nbreak", `q"uote`, "-rf", strings.Repeat("long", 50)}
	in, err := os.OpenRoot(dir)
	check(t, err)
	defer in.Close()
	path := func() string {
		p := "."
		for range 1 + r.IntN(3) {
			p = filepath.Join(p, names[r.IntN(len(names))])
		}
		return p
	}
	for range n {
		p, q := path(), path()
		if r.IntN(3) == 0 {
			in.RemoveAll(p)
		}
		switch r.IntN(7) { // some cannot be done
		case 0, 1:
			in.MkdirAll(filepath.Dir(p), 0o755)
			in.WriteFile(p, []byte(strings.Repeat("x", r.IntN(3000))), 0o600)
		case 2:
			in.MkdirAll(p, 0o755)
		case 3:
			in.Symlink([]string{"/etc/passwd", "../../../..", "a", "nowhere"}[r.IntN(4)], p)
		case 4:
			if i, err := in.Lstat(q); err == nil && i.Mode().IsRegular() && i.Sys().(*syscall.Stat_t).Nlink == 1 {
				in.Link(q, p)
			}
		case 5:
			if i, err := in.Lstat(p); err == nil && i.Mode()&fs.ModeSymlink == 0 {
				in.Chmod(p, []fs.FileMode{0o755, 0o700, 0o711, 0o777 | fs.ModeSticky}[r.IntN(4)])
			}
		case 6:
			in.Rename(p, q)
		}
	}
}

// What a workspace does not hold is named, and the rest is kept.
func TestWhatIsLeftOutIsNamed(t *testing.T) {
	known := &secret.Set{}
	known.Add("API_KEY", "sk-very-secret-0001")
	w := newWorld(t, func(dir string) { write(t, dir+"/old/kept", "1") })
	d := w.dir
	write(t, d+"/ok", "yes")
	check(t, os.Link(d+"/old/kept", d+"/kept too"))
	write(t, d+"/in/file", strings.Repeat("x", 300<<10)+"sk-very-secret-0001"+strings.Repeat("y", 1000))
	write(t, d+"/border", strings.Repeat("x", 256<<10-5)+"sk-very-secret-0001")
	write(t, d+"/name-sk-very-secret-0001/inside", "1")
	check(t, os.Symlink("/x/sk-very-secret-0001", d+"/link"))
	check(t, os.Link(d+"/in/file", d+"/z-hard"))
	write(t, d+"/setuid", "1")
	check(t, os.Chmod(d+"/setuid", 0o755|fs.ModeSetuid))
	check(t, syscall.Mkfifo(d+"/fifo", 0o600))
	l, err := net.Listen("unix", d+"/socket")
	check(t, err)
	defer l.Close()
	check(t, os.Symlink("/etc/passwd", d+"/outside"))
	sparse, err := os.Create(d + "/sparse")
	check(t, err)
	check(t, sparse.Truncate(5<<20))
	check(t, sparse.Close())
	want := []string{"/border: it has the value of API_KEY", "/fifo: a named pipe", "/in/file: it has the value of API_KEY",
		"/link: the path that it leads to has the value of API_KEY", "/name-[redacted:API_KEY]/inside: its name has the value of API_KEY",
		"/name-[redacted:API_KEY]: its name has the value of API_KEY", "/setuid: its setuid or setgid bit", "/socket: a socket",
		"/z-hard: a hard link to a file that is left out"}
	if err := syscall.Mknod(d+"/device", syscall.S_IFCHR|0o600, 1<<8|3); err == nil {
		want = append(want, "/device: a device")
	}
	if os.Getuid() != 0 {
		write(t, d+"/unreadable", "1")
		check(t, os.Chmod(d+"/unreadable", 0))
		want = append(want, "/unreadable: cannot be read: permission denied")
	}
	slices.Sort(want)
	a, archive := w.pack(t, known)
	for i := range a.LeftOut {
		a.LeftOut[i] = strings.Replace(a.LeftOut[i], d, "", 1)
	}
	if !slices.Equal(a.LeftOut, want) {
		t.Errorf("left out:\n%s\nwant:\n%s", strings.Join(a.LeftOut, "\n"), strings.Join(want, "\n"))
	}
	if bytes.Contains(archive, []byte("very-secret")) {
		t.Error("the archive has the secret")
	}
	got := w.restored(t, a, archive, func(dir string) { write(t, dir+"/old/kept", "1") })
	if strings.Count(got, " true\n") != 2 {
		t.Errorf("no hard link in\n%s", got)
	}
	for _, name := range []string{`"/ok"`, `"/setuid" -rwxr-xr-x`, `"/outside" Lrwxrwxrwx`, `"/sparse" -rw-r--r-- ` + fmt.Sprint(os.Getuid())} {
		if !strings.Contains(got, name) {
			t.Errorf("%s is missing in\n%s", name, got)
		}
	}
}

// A file that changes while it is read is left out, and what comes after it is kept.
func TestAFileThatGrowsIsLeftOut(t *testing.T) {
	w := newWorld(t, func(string) {})
	write(t, w.dir+"/a", strings.Repeat("x", 1<<20))
	write(t, w.dir+"/b", "1")
	for _, how := range []int64{1<<20 + 1, 1000} {
		var out bytes.Buffer
		grows := writer(func(p []byte) (int, error) {
			if out.Len() > 100<<10 {
				check(t, os.Truncate(w.dir+"/a", how))
			}
			return out.Write(p)
		})
		check(t, tree{roots: []string{w.dir}}.pack(grows, bytes.NewReader(w.list.Bytes())))
		a, archive := receive(t, out.Bytes(), nil)
		if fmt.Sprint(a.LeftOut) != "["+w.dir+"/a: it changed while it was read]" || a.Paths != 1 || !bytes.Contains(archive, []byte("/b")) ||
			bytes.Contains(archive, []byte("xxx")) {
			t.Errorf("%d: %+v", how, a)
		}
		write(t, w.dir+"/a", strings.Repeat("x", 1<<20))
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Above a limit nothing is kept, and the reason is.
func TestLimits(t *testing.T) {
	w := newWorld(t, func(string) {})
	f, err := os.Create(w.dir + "/huge")
	check(t, err)
	defer f.Close()
	check(t, f.Truncate(1<<40))
	a, _ := w.pack(t, nil)
	if a.Digest != "" || fmt.Sprint(a.LeftOut) != "[more than 67108864 bytes]" || a.Paths != 0 {
		t.Error(a)
	}
	var out bytes.Buffer
	w = newWorld(t, func(string) {})
	write(t, w.dir+"/x", "1")
	check(t, tree{roots: []string{w.dir}}.pack(&out, bytes.NewReader(w.list.Bytes())))
	for _, cut := range []int{0, 1, 511, 512, 600, out.Len() - 1024 - 512 - 512} {
		if a, _ := receive(t, out.Bytes()[:cut], nil); a.Digest != "" || len(a.LeftOut) != 1 {
			t.Errorf("cut after %d bytes: %+v", cut, a)
		}
	}
}

// What lies in other mounts is named if it changed, also in one that is new or gone.
func TestOtherMounts(t *testing.T) {
	fill := func(dir string) {
		for _, name := range []string{"shm/before", "x/y", "new/hidden", "gone/seen", "same/file"} {
			write(t, dir+"/"+name, "1")
		}
	}
	d := t.TempDir()
	fill(d)
	before := tree{[]string{d}, map[string]string{d + "/shm": "tmpfs", d + "/x/y": "ext4", d + "/gone": "ext4", d + "/same": "tmpfs", d + "/pts": "devpts"}}
	var list bytes.Buffer
	check(t, before.list(&list))
	pack := func(now tree) formats.Workspace {
		var out bytes.Buffer
		check(t, now.pack(&out, bytes.NewReader(list.Bytes())))
		a, _ := receive(t, out.Bytes(), nil)
		return a
	}
	if a := pack(before); len(a.LeftOut) > 0 || a.Paths > 0 {
		t.Error(a)
	}
	write(t, d+"/shm/more", "1")
	write(t, d+"/x/y", "2")
	check(t, os.Remove(d+"/new/hidden"))
	check(t, os.Remove(d+"/gone/seen"))
	now := tree{[]string{d}, maps.Clone(before.mounts)}
	delete(now.mounts, d+"/gone")
	now.mounts[d+"/new"] = "tmpfs"
	want := fmt.Sprintf("[%s/gone: what is in it () changed %[1]s/new: what is in it (tmpfs) changed %[1]s/shm: what is in it (tmpfs) changed "+
		"%[1]s/x/y: what is in it (ext4) changed]", d)
	if a := pack(now); fmt.Sprint(a.LeftOut) != want || a.Paths != 0 {
		t.Error(a)
	}
}

func TestReadMounts(t *testing.T) {
	m, err := readMounts(nil)
	if err != nil || m.mounts["/proc"] != "proc" || m.mounts["/"] == "" {
		t.Error(m, err)
	}
}
