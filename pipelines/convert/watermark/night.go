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
func (w *Watermark) Read(number int, m Mark) (known bool, err error) {
	if err = w.add(append(m.key(), tonight), uint32(number)); err == nil {
		known, err = w.known.has(m)
	}
	if known || m.Kind == Answered || err != nil {
		return known, err
	}
	return w.known.has(Mark{Answered, m.Hi, m.Lo})
}

// Known reports whether a night before noted a mark.
func (w *Watermark) Known(m Mark) (bool, error) { return w.known.has(m) }

// Note keeps a mark of what tonight imports.
func (w *Watermark) Note(m Mark) error { return w.add(append(m.key(), tonight), nobody) }

// The byte after the key of a mark that is sorted.
const (
	earlier = iota
	tonight
)

func (w *Watermark) add(key []byte, object uint32) error {
	return w.marks.Add(binary.BigEndian.AppendUint32(key, object), nil)
}

// Pend stores calls that wait for a later night, in their order. What waited until tonight is dropped unless
// it is stored again.
func (w *Watermark) Pend(ctx context.Context, data []byte, calls int) error {
	name, err := w.put(ctx, "pending-", data)
	w.next.Pending, w.next.Waiting = append(w.next.Pending, name), w.next.Waiting+int64(calls)
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
		w.sealed, err = w.put(ctx, stateOf(n.Night), data)
	}
	return w.sealed, err
}

// Finish makes the night that is sealed the newest one.
func (w *Watermark) Finish(ctx context.Context) error {
	before := w.State
	w.State, w.name = w.next, w.sealed
	return w.end(ctx, &before)
}

// end creates the head of a night, and removes what neither its state nor the one before names.
func (w *Watermark) end(ctx context.Context, before *State) error {
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
	keep := append(slices.Concat(before.Pending, w.Pending), before.Marks, w.Marks, w.Previous, w.name,
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
	if w.known != nil {
		marks := bufio.NewReaderSize(io.NewSectionReader(w.known.f, 0, w.known.n*markBytes), 1<<20)
		for range w.known.n {
			var m [markBytes]byte
			if _, err := io.ReadFull(marks, m[:]); err != nil {
				return "", err
			}
			object := binary.BigEndian.Uint32(m[keyBytes:])
			if err := w.add(append(bytes.Clone(m[:keyBytes]), earlier), object); err != nil {
				return "", err
			}
		}
	}
	d, err := w.bucket.Draft(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Discard()) }()
	digest := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(d, digest), 1<<20)
	if err := w.merge(out); err != nil {
		return "", err
	}
	if err := out.Flush(); err != nil {
		return "", err
	}
	if name = "marks-" + hex.EncodeToString(digest.Sum(nil)); name == w.Marks {
		return name, nil
	}
	return name, d.Replace(ctx, folder+name)
}

// merge writes each mark once, with the object that had it first.
func (w *Watermark) merge(out *bufio.Writer) error {
	lost, owned := map[uint32]int64{}, make([]int64, len(w.next.Objects))
	var key []byte // the mark that is read, with its object
	var old, kept bool
	end := func() error {
		if key == nil {
			return nil
		}
		object := binary.BigEndian.Uint32(key[keyBytes:])
		if old && !kept && w.reread[object] {
			lost[object]++
			binary.BigEndian.PutUint32(key[keyBytes:], nobody)
		} else if object != nobody {
			owned[object]++
		}
		_, err := out.Write(key)
		return err
	}
	for r, err := range w.marks.Sorted() {
		if err != nil {
			return err
		}
		object := r.Key[keyBytes+1:]
		if key != nil && bytes.Equal(r.Key[:keyBytes], key[:keyBytes]) {
			kept = kept || bytes.Equal(object, key[keyBytes:])
			continue
		}
		if err := end(); err != nil {
			return err
		}
		key, old, kept = append(append(key[:0], r.Key[:keyBytes]...), object...), r.Key[keyBytes] == earlier, false
	}
	if err := end(); err != nil {
		return err
	}
	if len(lost) > 0 && !w.o.Lossy {
		return w.lost(lost)
	}
	for i := range owned {
		w.next.Objects[i].Calls = owned[i]
	}
	return nil
}
