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
	Waiting  int64          `json:"waiting"`  // calls in Pending
	Pending  []string       `json:"pending"`  // files, in order
	Marks    string         `json:"marks"`    // file; "" for none
	Objects  []Object       `json:"objects"`
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
	name   string // of the state's file; "" before the first night

	numbers map[string]int // of the objects, by name
	reread  map[uint32]bool
	known   *set
	marks   *spill.Sorter // of tonight
	next    State
	sealed  string // name of the file of next
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
		reread: map[uint32]bool{}, marks: spill.New(o.Dir, o.Memory)}
	if err = w.load(ctx); err == nil {
		for i, o := range w.Objects {
			w.numbers[o.Name] = i
		}
		w.known, err = w.openSet(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(ctx))
	}
	return w, nil
}

// Close lets other processes have the watermark, and removes temporary files.
func (w *Watermark) Close(ctx context.Context) error {
	return errors.Join(w.marks.Close(), w.known.close(), w.lease.Release(ctx))
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
		if err != nil {
			return err
		}
		if err := w.state(ctx, newest, string(name)); err != nil {
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
	before := w.State
	last, was := sealed[len(sealed)-1], w.name
	err = w.state(ctx, newest+1, last.State)
	if err != nil || len(sealed) > 1 || w.Previous != was || w.Epoch != last.Epoch {
		w.State = before
		return errors.Join(w.lacks("epoch %d has the dataset of a later night", last.Epoch), err)
	}
	w.o.Log.Info("import: the last night was interrupted after its dataset; it is completed now", "epoch", w.Epoch)
	return w.end(ctx, &before)
}

// state reads the state of a night.
func (w *Watermark) state(ctx context.Context, night int, name string) error {
	digest, err := hex.DecodeString(strings.TrimPrefix(name, stateOf(night)))
	if err != nil || len(digest) != sha256.Size {
		return w.damaged(head(night), errChanged)
	}
	data, err := w.Get(ctx, name)
	if err != nil {
		return err
	}
	var s State
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fault.Invalid(w.place(name), "use the version that wrote it, or a newer one", err, "reading a state")
	}
	if s.Run != w.o.Run {
		return fault.Invalid(w.place(name), rebuild, nil, "it is the watermark of the run %s, not of %s", s.Run, w.o.Run)
	}
	w.State, w.name = s, name
	return nil
}
