package watermark

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// State is what is known after a night.
type State struct {
	Run      string         `json:"run"`      // id of the run
	Night    int            `json:"night"`    // from 1; 0 before the first
	Previous string         `json:"previous"` // name of the state before; "" for none
	Epoch    int            `json:"epoch"`    // the newest that a night wrote; -1 for none
	Settings map[string]any `json:"settings"` // that all nights have in common
	Newest   int64          `json:"newest"`   // time of the newest call, in microseconds since 1970; 0 for none
	Pending  []string       `json:"pending"`  // files, in order
	Marks    string         `json:"marks"`    // file; "" for none
	Objects  []Object       `json:"objects"`

	name string // of its file; "" before the first night
}

// Options say whose watermark it is.
type Options struct {
	Root, Run string // of the run: where its folder is, and its id
	Lossy     bool   // accept objects that became smaller or lost calls

	// Sealed returns the datasets of nights in epochs after one, in order.
	Sealed func(ctx context.Context, after int) ([]Sealed, error)

	Dir    string // of temporary files; "": the system's
	Memory int64  // bytes
	Log    *slog.Logger
}

// Sealed is a dataset that a night wrote.
type Sealed struct {
	Epoch int
	State string // as Seal returned it
}

// Watermark is held by one process. It is for one goroutine, and must be closed.
type Watermark struct {
	State
	o      Options
	bucket *storage.Bucket
	lease  *lease.Lease

	numbers map[string]int         // of the objects, which are their places, by name
	reread  map[uint32]bool        // of those that are read: whether a night before had it
	known   *os.File               // marks of the nights before, sorted
	n       int64                  // so many
	held    map[int][keyBytes]byte // what every search reads of them
	marks   *spill.Sorter          // of tonight
	next    State
}

var ttl = 20 * time.Second // of the lease; tests have less

// Open returns the watermark of a run, of no nights when there is none. Another process that holds it is an
// error of kind temporary. A night that ended with its dataset, but without its head, gets its head.
func Open(ctx context.Context, o Options) (*Watermark, error) {
	b, err := storage.Open(ctx, o.Root)
	if err == nil {
		err = b.Replaces(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	held, err := lease.Try(ctx, lease.Object{Bucket: b, Key: folder + "lease.json"}, ttl, "another --new of this run", o.Log)
	if err != nil {
		return nil, err
	}
	w := &Watermark{State: State{Run: o.Run, Epoch: -1}, o: o, bucket: b, lease: held, numbers: map[string]int{},
		reread: map[uint32]bool{}, held: map[int][keyBytes]byte{}, marks: spill.New(o.Dir, o.Memory)}
	if err = w.load(ctx); err == nil {
		err = w.copyMarks(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(ctx))
	}
	return w, nil
}

// Close lets other processes have the watermark, and removes temporary files.
func (w *Watermark) Close(ctx context.Context) error {
	if w.known != nil {
		_ = w.known.Close() // nothing in it is needed any more
	}
	return errors.Join(w.marks.Close(), w.lease.Release(ctx))
}

// Bind returns a context that ends when another process takes over, or may soon do so.
func (w *Watermark) Bind(ctx context.Context) (context.Context, context.CancelFunc) {
	return w.lease.Bind(ctx)
}

func head(night int) string { return fmt.Sprintf("night-%08d", night) }

func stateOf(night int) string { return fmt.Sprintf("state-%08d-", night) }

// load reads the state of the newest head, and finishes the night after it if its dataset is there.
func (w *Watermark) load(ctx context.Context) error {
	newest, begun := 0, 0
	for o, err := range w.bucket.List(ctx, folder) {
		if err != nil {
			return err
		}
		n := 0
		if _, err := fmt.Sscanf(o.Key, folder+"night-%d", &n); err == nil {
			newest = max(newest, n)
		} else if _, err = fmt.Sscanf(o.Key, folder+"state-%d-", &n); err == nil {
			begun = max(begun, n)
		}
	}
	if newest > 0 {
		name, err := w.bucket.Read(ctx, folder+head(newest))
		if err == nil {
			w.State, err = w.state(ctx, newest, string(name))
		}
		if err != nil {
			return err
		}
	}
	if begun > newest+1 {
		return w.lacks("night %d has begun", begun)
	}
	sealed, err := w.o.Sealed(ctx, w.Epoch)
	if err != nil || len(sealed) == 0 {
		return err
	}
	last := sealed[len(sealed)-1]
	w.next, err = w.state(ctx, newest+1, last.State)
	if err != nil || len(sealed) > 1 || w.next.Previous != w.name || w.next.Epoch != last.Epoch {
		return errors.Join(w.lacks("epoch %d has the dataset of a later night", last.Epoch), err)
	}
	w.o.Log.Info("import: the last night was interrupted after its dataset; it is completed now", "epoch", last.Epoch)
	return w.Finish(ctx)
}

// state reads the state of a night.
func (w *Watermark) state(ctx context.Context, night int, name string) (s State, err error) {
	digest, err := hex.DecodeString(strings.TrimPrefix(name, stateOf(night)))
	if err != nil || len(digest) != sha256.Size {
		return s, w.damaged(head(night), errChanged)
	}
	data, err := w.Get(ctx, name)
	if err != nil {
		return s, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fault.Invalid(w.place(name), "use the version that wrote it, or a newer one", err, "reading a state")
	}
	if s.Run != w.o.Run {
		return s, fault.Invalid(w.place(name), rebuild, nil, "it is the watermark of the run %s, not of %s", s.Run, w.o.Run)
	}
	s.name = name
	return s, nil
}
