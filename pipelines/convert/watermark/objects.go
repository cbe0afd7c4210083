package watermark

import (
	"slices"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/storage/fault"
)

// Object is an object of the log. Its number is its place in State.Objects.
type Object struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Version string `json:"version"`        // of its content, as the store tells without reading it
	Calls   int64  `json:"calls"`          // that it had first
	Gone    bool   `json:"gone,omitempty"` // it is no longer listed
}

// Changed takes the objects that are listed tonight. It returns the numbers of those that have to be read, -1 for
// the others, and the names of those that are gone since the night before. An object that became smaller is
// an error, unless Lossy accepts it.
func (w *Watermark) Changed(listed []Object) (numbers []int, gone []string, err error) {
	objects, there := slices.Clone(w.Objects), map[string]bool{}
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
		there[l.Name], l.Calls = true, was.Calls
		objects[number] = l
		if seen && l.Size == was.Size && l.Version == was.Version {
			number = -1
		} else {
			w.reread[uint32(number)] = seen
		}
		numbers = append(numbers, number)
	}
	for i, o := range objects {
		if !o.Gone && !there[o.Name] {
			objects[i].Gone, gone = true, append(gone, o.Name)
		}
	}
	w.next.Objects = objects
	return numbers, gone, nil
}

const lossy = "if that is right, as when logs are rotated, --lossy takes what is there now; what was imported stays"

// Again makes the next night read an object, although it did not change.
func (w *Watermark) Again(number int) { w.next.Objects[number].Version = "" }

// lost is the error of objects that were read again and lack calls that they had, which are counted.
func (w *Watermark) lost(calls map[uint32]int64) error {
	first := -1
	for number := range calls {
		if first < 0 || w.next.Objects[number].Name < w.next.Objects[first].Name {
			first = int(number)
		}
	}
	text := ""
	if more := len(calls) - 1; more > 0 {
		text = "; so are calls of " + plural.Of(more, "other object")
	}
	return fault.Invalid(w.next.Objects[first].Name, lossy, nil, "it has changed, and %s of the %d that it had are gone%s",
		plural.Of(calls[uint32(first)], "call"), w.next.Objects[first].Calls, text)
}
