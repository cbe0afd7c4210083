package watermark

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func init() { ttl = 200 * time.Millisecond }

// home is a run of tests: its root, and the datasets that its nights sealed.
type home struct {
	root   string
	sealed []Sealed
	lossy  bool
}

func (h *home) open(ctx context.Context, t *testing.T) (*Watermark, error) {
	return Open(ctx, Options{Root: h.root, Run: "r1", Lossy: h.lossy, Memory: 1 << 20, Log: slog.New(slog.DiscardHandler),
		Dir: t.TempDir(), Sealed: func(_ context.Context, after int) (out []Sealed, err error) {
			for _, s := range h.sealed {
				if s.Epoch > after {
					out = append(out, s)
				}
			}
			return out, nil
		}})
}

// log is a log in its objects: the numbers of calls, of which those below 0 have no answer.
type log map[string][]int

func (l log) listed() (out []Object) {
	for name, calls := range l {
		out = append(out, Object{Name: name, Size: int64(len(calls)), Version: fmt.Sprint(calls)})
	}
	slices.SortFunc(out, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func markOf(call int) Mark {
	if call < 0 {
		return Mark{Failed, 7, uint64(-call)}
	}
	return Mark{Answered, 7, uint64(call)}
}

// night imports what is new in a log, all of it with a dataset if it is anything, and returns the calls.
func (h *home) night(ctx context.Context, t *testing.T, l log) (fresh []int, gone []string, err error) {
	w, err := h.open(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	listed := l.listed()
	changed, gone, err := w.Changed(listed)
	if err != nil {
		return nil, nil, err
	}
	tonight := map[int]bool{}
	for i, read := range changed {
		for _, call := range l[listed[i].Name] {
			if !read {
				continue
			}
			known, err := w.Read(listed[i].Name, markOf(call))
			if err != nil {
				return nil, nil, err
			}
			if !known && !tonight[call] {
				tonight[call] = true
				fresh = append(fresh, call)
			}
		}
	}
	epoch := -1
	if len(fresh) > 0 {
		epoch = len(h.sealed)
	}
	name, err := w.Seal(ctx, epoch, map[string]any{"from": "x"}, 0)
	if err != nil || name == "" {
		return nil, gone, err
	}
	if epoch >= 0 {
		if b, _ := storage.Open(ctx, h.root); b.Write(ctx, "dataset", nil) != nil { // it dies before, or after
			return nil, nil, errors.New("no dataset")
		}
		h.sealed = append(h.sealed, Sealed{epoch, name})
	}
	slices.Sort(fresh)
	return fresh, gone, w.Finish(ctx)
}

func TestNights(t *testing.T) {
	h := &home{root: t.TempDir()}
	for i, c := range []struct {
		l     log
		fresh []int
		gone  []string
		fails string
		lossy bool
	}{
		{l: log{"a": {1, 2}}, fresh: []int{1, 2}},
		{l: log{"a": {1, 2}}},
		{l: log{"a": {1, 2, 3}, "b": {3, 2}}, fresh: []int{3}},              // it grew; a copy
		{l: log{"a": {1, 2, 3, -4, -4}, "b": {3, 2}}, fresh: []int{-4}},     // one without an answer, logged twice
		{l: log{"a": {1, 2, 3, -4, -4, 4}, "b": {3, 2}}, fresh: []int{4}},   // its retry
		{l: log{"a": {1, 2, 3, -4, -4, 4}, "c": {-4}}, gone: []string{"b"}}, // a try of what was answered
		{l: log{"a": {1, 2, 3, -4, -4}, "c": {-4}}, fails: `"a": it has 5 bytes, and had 6 when it was imported`},
		{l: log{"a": {1, 2, 5, -4, -4, 4, 6}, "c": {-4}}, fails: `"a": it has changed, and 1 call of the 5 that it had are gone`},
		{l: log{"a": {1, 2, 5, -4, -4, 4, 6}, "c": {-4}}, fresh: []int{5, 6}, lossy: true},
		{l: log{"a": {1, 2, 5, -4, -4, 4, 6, 7}, "c": {-4}}, fresh: []int{7}}, // what it lost is not missed again
		{l: log{"a": {1, 2, 5, -4, -4, 4, 6, 7}, "c": {-4}, "b": {3, 2}}},     // it is back
	} {
		h.lossy = c.lossy
		fresh, gone, err := h.night(t.Context(), t, c.l)
		if c.fails != "" {
			if err == nil || fault.KindOf(err) != fault.Input || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("night %d: %v", i+1, err)
			}
			continue
		}
		if err != nil || !slices.Equal(fresh, c.fresh) || !slices.Equal(gone, c.gone) {
			t.Errorf("night %d: %v new, %v gone, %v; not %v, %v", i+1, fresh, gone, err, c.fresh, c.gone)
		}
	}
	if _, _, err := h.night(t.Context(), t, log{}); err != nil { // all objects are gone
		t.Error(err)
	}
}

// files returns what is in the folder of the watermark.
func (h *home) files(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(h.root, folder, "*"))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = data
	}
	return out
}

func (h *home) restore(t *testing.T, files map[string][]byte) {
	if err := os.RemoveAll(filepath.Join(h.root, folder)); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		path := filepath.Join(h.root, folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Of whatever is damaged, missing or old, the night after is an error that names it, and changes nothing.
func TestDamage(t *testing.T) {
	h := &home{root: t.TempDir()}
	var before []map[string][]byte
	for i := range 4 {
		if _, _, err := h.night(t.Context(), t, log{"a": []int{1, 2, 3, 4}[:i+1]}); err != nil {
			t.Fatal(err)
		}
		before = append(before, h.files(t))
	}
	whole := h.files(t)
	refused := func(what string, files map[string][]byte) {
		t.Helper()
		h.restore(t, files)
		_, _, err := h.night(t.Context(), t, log{"a": {1, 2, 3, 4, 5}})
		if err == nil || fault.KindOf(err) != fault.Input || !strings.Contains(err.Error(), "watermark") ||
			!strings.Contains(fault.HintOf(err), "--root") {
			t.Errorf("%s: %v", what, err)
		}
		if now := h.files(t); len(now) != len(files) {
			t.Errorf("%s: %d files became %d", what, len(files), len(now))
		}
	}
	with := func(name string, data []byte) map[string][]byte {
		files := map[string][]byte{}
		for n, d := range whole {
			files[n] = d
		}
		if files[name] = data; data == nil {
			delete(files, name)
		}
		return files
	}
	current := 0
	for name, data := range whole {
		if !strings.HasPrefix(name, "night-00000004") && !strings.HasPrefix(name, "state-00000004") && !strings.Contains(string(data), "marks") &&
			!strings.HasPrefix(name, "marks") {
			continue
		}
		old := before[2][name] != nil
		for at := 0; at < len(data); at += max(1, len(data)/map[bool]int{true: 15, false: 200}[testing.Short()]) {
			flipped := slices.Clone(data)
			flipped[at] ^= 1 << (at % 8)
			if old {
				continue // of the night before; it is not read
			}
			current++
			refused(fmt.Sprint(name, " flipped at ", at), with(name, flipped))
		}
		if !old {
			refused(name+" cut", with(name, data[:len(data)-1]))
			refused(name+" empty", with(name, []byte{}))
			if !strings.HasPrefix(name, "night") {
				refused(name+" removed", with(name, nil))
			}
		}
	}
	if current < 30 {
		t.Errorf("%d flips", current)
	}
	refused("taken away", nil)
	refused("of the first night", before[0])
	refused("of the second night", before[1])
	refused("of the third night", before[2])
	h.restore(t, whole)
	for i := range h.sealed {
		h.sealed[i].State = ""
	}
	if w, err := Open(t.Context(), Options{Root: h.root, Run: "r2", Memory: 1 << 20, Log: slog.New(slog.DiscardHandler)}); err == nil ||
		!strings.Contains(err.Error(), "it is the watermark of the run r1, not of r2") {
		t.Errorf("of another run: %v, %v", w, err)
	}
}

// A process is killed before each of its operations in the store, and after each that published
// something. Whatever happens, the nights after import each call once.
func TestKilledAtEveryOperation(t *testing.T) {
	nights := []log{{"a": {1, 2}}, {"a": {1, 2, 3}}, {"a": {1, 2, 3}, "b": {3, 4}}}
	for at := 1; ; at++ {
		h, n, dead := &home{root: t.TempDir()}, 0, false
		killed := storage.Wrapping(t.Context(), func(b *storage.Bucket) *storage.Bucket {
			return b.WithHook(func(op, key string) error {
				if n++; n >= at {
					dead = true
					return errors.New("killed")
				}
				return nil
			})
		})
		imported := map[int]int{}
		for i := 0; i < len(nights); i++ {
			ctx := t.Context()
			if i == 1 && !dead {
				ctx = killed
			}
			was := len(h.sealed)
			fresh, _, err := h.night(ctx, t, nights[i])
			if dead && i == 1 && err != nil {
				_ = os.Remove(filepath.Join(h.root, folder, "lease.json")) // its process is gone
				i--
			} else if err != nil {
				t.Fatalf("killed at %d, night %d: %v", at, i+1, err)
			}
			if len(h.sealed) > was {
				for _, call := range fresh {
					imported[call]++
				}
			}
		}
		if len(imported) != 4 || imported[1]+imported[2]+imported[3]+imported[4] != 4 {
			t.Fatalf("killed at %d: %v", at, imported)
		}
		if !dead {
			if at < 15 {
				t.Errorf("a night has %d operations", at)
			}
			return
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	h := &home{root: t.TempDir()}
	w, err := h.open(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.open(t.Context(), t); fault.KindOf(err) != fault.Temporary {
		t.Errorf("%v", err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w, err = h.open(t.Context(), t); err != nil {
		t.Fatal(err)
	}
	w.Close(t.Context())
}

// Each mark is found, and no others.
func TestSet(t *testing.T) {
	h := &home{root: t.TempDir()}
	l := log{"a": nil}
	for i := range 773 {
		l["a"] = append(l["a"], 2*i+2)
	}
	if fresh, _, err := h.night(t.Context(), t, l); err != nil || len(fresh) != 773 {
		t.Fatal(len(fresh), err)
	}
	w, err := h.open(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	for i := range 2*len(l["a"]) + 4 {
		known, err := w.Known(Mark{Answered, 7, uint64(i)})
		if want := i > 0 && i%2 == 0 && i <= 2*len(l["a"]); err != nil || known != want {
			t.Errorf("%d: %v, %v", i, known, err)
		}
	}
}

// A process that was stopped for so long that another took its place over cannot end its night, whichever of
// the two has a dataset; if its dataset was sealed all the same, the next night says so.
func TestTakenOver(t *testing.T) {
	h := &home{root: t.TempDir()}
	if _, _, err := h.night(t.Context(), t, log{"a": {1}}); err != nil {
		t.Fatal(err)
	}
	stopped, err := h.open(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close(t.Context())
	_, _, err = stopped.Changed(log{"a": {1, 2}}.listed())
	for _, call := range []int{1, 2} {
		if err == nil {
			_, err = stopped.Read("a", markOf(call))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(h.root, folder, "lease.json"))
	other, err := h.open(t.Context(), t) // its night has no dataset
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = other.Changed(log{"a": {1}, "b": {1}}.listed()); err == nil {
		if _, err = other.Seal(t.Context(), -1, nil, 0); err == nil {
			err = other.Finish(t.Context())
		}
	}
	if err := errors.Join(err, other.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	name, err := stopped.Seal(t.Context(), 1, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	h.sealed = append(h.sealed, Sealed{1, name})
	if err := stopped.Finish(t.Context()); fault.KindOf(err) != fault.Temporary {
		t.Errorf("it ended its night: %v", err)
	}
	if _, err := h.open(t.Context(), t); fault.KindOf(err) != fault.Input || !strings.Contains(err.Error(), "epoch 1 has the dataset of a later night") {
		t.Errorf("%v", err)
	}
}

// The files of the night before stay, so that a night whose head was lost is only imported again.
func TestTheNightBeforeStays(t *testing.T) {
	h := &home{root: t.TempDir()}
	for _, l := range []log{{"a": {1}}, {"a": {1}, "b": {1}}} { // the second has no dataset
		if _, _, err := h.night(t.Context(), t, l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(h.root, folder, head(2))); err != nil {
		t.Fatal(err)
	}
	if fresh, _, err := h.night(t.Context(), t, log{"a": {1}, "b": {1, 2}}); err != nil || !slices.Equal(fresh, []int{2}) {
		t.Errorf("%v, %v", fresh, err)
	}
}

// A dataset whose night followed on another one than the newest head's is of another copy of the run.
func TestNightOfAnotherCopy(t *testing.T) {
	h, other := &home{root: t.TempDir()}, &home{root: t.TempDir()}
	for i, c := range []struct {
		h *home
		l log
	}{{h, log{"a": {1}}}, {other, log{"b": {2}}}, {other, log{"b": {2, 3}}}} {
		if _, _, err := c.h.night(t.Context(), t, c.l); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	for name, data := range other.files(t) {
		if !strings.HasPrefix(name, "night-") {
			if err := os.WriteFile(filepath.Join(h.root, folder, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.sealed = other.sealed
	if _, err := h.open(t.Context(), t); fault.KindOf(err) != fault.Input || !strings.Contains(err.Error(), "the dataset of a later night") {
		t.Errorf("%v", err)
	}
}
