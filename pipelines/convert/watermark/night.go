package watermark

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Read notes that an object has a call, and reports whether a night before read the call, in any object. An
// answered call is not known if only a try without an answer is.
func (w *Watermark) Read(object string, m Mark) (known bool, err error) {
	if err = w.marks.Add(m.tonight(uint32(w.numbers[object])), nil); err == nil {
		known, err = w.Known(m)
	}
	if known || m.Kind == Answered || err != nil {
		return known, err
	}
	return w.Known(Mark{Answered, m.Hi, m.Lo})
}

// Note keeps a mark of what tonight imports.
func (w *Watermark) Note(m Mark) error { return w.marks.Add(m.tonight(nobody), nil) }

// Pend stores calls that wait for a later night, in their order. What waited until tonight is dropped unless
// it is stored again.
func (w *Watermark) Pend(ctx context.Context, data []byte) error {
	name, err := w.put(ctx, "pending-", data)
	w.next.Pending = append(w.next.Pending, name)
	return err
}

// Seal writes what is known after tonight, except its head, and returns the name of it; "" if that is what was
// known before. epoch is that of the dataset to come, -1 for none; newest is the time of the newest call.
func (w *Watermark) Seal(ctx context.Context, epoch int, settings map[string]any, newest int64) (_ string, err error) {
	n := &w.next
	n.Run, n.Night, n.Previous, n.Epoch = w.Run, w.Night+1, w.name, max(epoch, w.Epoch)
	n.Settings, n.Newest = settings, max(newest, w.Newest)
	if n.Marks, err = w.putMarks(ctx); err != nil {
		return "", err
	}
	if epoch < 0 && n.Newest == w.Newest && n.Marks == w.Marks && slices.Equal(n.Pending, w.Pending) &&
		slices.Equal(n.Objects, w.Objects) {
		return "", nil
	}
	data, err := json.MarshalIndent(n, "", " ")
	if err == nil {
		n.name, err = w.put(ctx, stateOf(n.Night), data)
	}
	return n.name, err
}

// Finish makes the night that is sealed the newest one: it creates its head, and removes what neither its
// state nor the one before names.
func (w *Watermark) Finish(ctx context.Context) error {
	before := w.State
	w.State, w.next = w.next, State{}
	key := folder + head(w.Night)
	err := w.lease.Check(ctx)
	if err == nil {
		err = w.bucket.Create(ctx, key, []byte(w.name))
	}
	if errors.Is(err, storage.ErrExist) {
		if there, look := w.bucket.Read(ctx, key); look == nil && string(there) == w.name {
			err = nil // the answer to our own creation was lost
		}
	}
	if err != nil {
		return fault.Errorf(fault.Temporary, "run the same command again", "ending night %d: %w", w.Night, err)
	}
	keep := append(slices.Concat(before.Pending, w.Pending), before.Marks, w.Marks, before.name, w.name,
		head(before.Night), head(w.Night), "lease.json")
	var old []storage.Object
	for o, err := range w.bucket.List(ctx, folder) {
		if err != nil {
			return err
		}
		if !slices.Contains(keep, strings.TrimPrefix(o.Key, folder)) {
			old = append(old, o)
		}
	}
	return w.bucket.DeleteAll(ctx, old)
}

// putMarks writes the marks of all nights as one file, and counts the calls of each object.
func (w *Watermark) putMarks(ctx context.Context) (name string, err error) {
	known := bufio.NewReaderSize(io.NewSectionReader(w.known, 0, w.n*markBytes), 1<<20)
	var m [markBytes]byte
	for range w.n {
		if _, err = io.ReadFull(known, m[:]); err == nil {
			err = w.marks.Add(m[:], nil)
		}
		if err != nil {
			return "", err
		}
	}
	d, err := w.bucket.Draft(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Discard()) }()
	digest := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(d, digest), 1<<20)
	if err = w.merge(out); err == nil {
		err = out.Flush()
	}
	if name = "marks-" + hex.EncodeToString(digest.Sum(nil)); name == w.Marks || err != nil {
		return name, err
	}
	return name, d.Replace(ctx, folder+name)
}

// merge writes each mark once, with the object that had it first.
func (w *Watermark) merge(out *bufio.Writer) error {
	lost, owned := map[uint32]int64{}, make([]int64, len(w.next.Objects))
	var m []byte  // the mark that is read
	var kept bool // its object still has it
	end := func() error {
		if m == nil {
			return nil
		}
		object := binary.BigEndian.Uint32(m[keyBytes+1:])
		if m[keyBytes] == earlier && !kept && w.reread[object] {
			lost[object]++
			binary.BigEndian.PutUint32(m[keyBytes+1:], nobody)
		} else if object != nobody {
			owned[object]++
		}
		m[keyBytes] = earlier
		_, err := out.Write(m)
		return err
	}
	for r, err := range w.marks.Sorted() {
		if err != nil {
			return err
		}
		if m != nil && bytes.Equal(r.Key[:keyBytes], m[:keyBytes]) {
			kept = kept || bytes.Equal(r.Key[keyBytes+1:], m[keyBytes+1:])
			continue
		}
		if err := end(); err != nil {
			return err
		}
		m, kept = append(m[:0], r.Key...), false
	}
	if err := end(); err != nil {
		return err
	}
	if len(lost) > 0 && !w.o.Lossy {
		return w.lost(lost)
	}
	for i, n := range owned {
		w.next.Objects[i].Calls = n
	}
	return nil
}
