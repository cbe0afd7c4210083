package watermark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

const folder = ".rollmill/import/"

func sum(data []byte) string {
	d := sha256.Sum256(data)
	return hex.EncodeToString(d[:])
}

// put writes a file under a name that ends with its digest.
func (w *Watermark) put(ctx context.Context, kind string, data []byte) (name string, err error) {
	name = kind + sum(data)
	return name, w.bucket.Write(ctx, folder+name, data)
}

// Get reads a file that was put, such as one of Pending.
func (w *Watermark) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := w.bucket.Read(ctx, folder+name)
	if err == nil && !strings.HasSuffix(name, "-"+sum(data)) {
		err = errChanged
	}
	return data, w.damaged(name, err)
}

var errChanged = errors.New("its digest is not the one in its name")

const rebuild = "put the folder back from a backup that is as new as the datasets of the run; without one, import " +
	"into another run with another --root, which reads everything again"

// damaged is the error of a file that is missing or has other content. What else a store says stays as it is.
func (w *Watermark) damaged(name string, err error) error {
	if err == nil || !errors.Is(err, errChanged) && !errors.Is(err, storage.ErrNotExist) {
		return err
	}
	return fault.Invalid(w.place(name), rebuild, err, "the watermark is damaged")
}

func (w *Watermark) place(name string) string { return storage.Join(w.bucket.URI(), folder+name) }

// lacks is the error of a watermark that is older than something else in the run.
func (w *Watermark) lacks(what string, args ...any) error {
	text := fmt.Sprintf("the watermark ends with night %d", w.Night)
	if w.Night == 0 {
		text = "the watermark is gone"
	}
	return fault.Invalid(w.place(""), rebuild, nil, "%s, and %s", text, fmt.Sprintf(what, args...))
}

// Object is an object of the log.
type Object struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Version string `json:"version"`        // of its content, as the store tells without reading it
	Calls   int64  `json:"calls"`          // that it had first
	Gone    bool   `json:"gone,omitempty"` // it is no longer listed
}

// Changed takes the objects that are listed tonight. It returns for each whether it has to be read, and the
// names of those that are gone since the night before. An object that became smaller is an error, unless Lossy
// accepts it.
func (w *Watermark) Changed(listed []Object) (changed []bool, gone []string, err error) {
	objects := slices.Clone(w.Objects)
	for i := range objects {
		objects[i].Gone, w.numbers[objects[i].Name] = true, i
	}
	for _, l := range listed {
		number, seen := w.numbers[l.Name]
		if !seen {
			number = len(objects)
			objects, w.numbers[l.Name] = append(objects, Object{}), number
		}
		was := objects[number]
		if seen && l.Size < was.Size && !w.o.Lossy {
			return nil, nil, fault.Invalid(l.Name, lossy, nil, "it has %s, and had %d when it was imported",
				plural.Of(l.Size, "byte"), was.Size)
		}
		l.Calls = was.Calls
		objects[number] = l
		same := seen && l.Size == was.Size && l.Version == was.Version
		if !same {
			w.reread[uint32(number)] = seen
		}
		changed = append(changed, !same)
	}
	for i, o := range w.Objects {
		if !o.Gone && objects[i].Gone {
			gone = append(gone, o.Name)
		}
	}
	w.next.Objects = objects
	return changed, gone, nil
}

const lossy = "if that is right, as when logs are rotated, --lossy takes what is there now; what was imported stays"

// Again makes the next night read an object, although it did not change.
func (w *Watermark) Again(object string) { w.next.Objects[w.numbers[object]].Version = "" }

// lost is the error of objects that were read again and lack calls that they had, which are counted.
func (w *Watermark) lost(calls map[uint32]int64) error {
	first, text := slices.Min(slices.Collect(maps.Keys(calls))), ""
	if more := len(calls) - 1; more > 0 {
		text = "; so are calls of " + plural.Of(more, "other object")
	}
	o := w.next.Objects[first]
	return fault.Invalid(o.Name, lossy, nil, "it has changed, and %s of the %d that it had are gone%s",
		plural.Of(calls[first], "call"), o.Calls, text)
}
