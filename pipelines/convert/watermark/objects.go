package watermark

import (
	"maps"
	"slices"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/storage/fault"
)

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
