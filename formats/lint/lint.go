package lint

import (
	"encoding/binary"
	"errors"

	"github.com/zeebo/xxh3"
)

// MaxFiles is how many files are reported one by one. The others are summed.
const MaxFiles = 100

// MaxPlaces is the largest number of places of a finding.
const MaxPlaces = 5

// Lint examines rows. What it keeps of them is in sorters, so its own memory does
// not grow with rows, only with the number of files; their names' memory is the
// caller's.
type Lint struct {
	files       []string
	n           uint64        // rows
	sorter      func() Sorter // a new one
	ids         Sorter        // the hash of an id and its row: the hash of the group
	runs        Sorter        // the hash of a group and a row: the facts of it and of the next rows, if they are of the group too
	definitions definitions

	run struct { // the last one, which is not in runs yet
		group, first uint64
		facts        []byte
	}
	key, value, text []byte // reused
}

// maxRun is the largest number of rows in a run.
const maxRun = 64

// New returns a lint that has seen nothing, and keeps what it needs in some
// sorters. It must be closed.
func New(sorter func() Sorter) *Lint {
	return &Lint{sorter: sorter, ids: sorter(), runs: sorter(), definitions: definitions{}}
}

// Close closes the sorters.
func (l *Lint) Close() error { return errors.Join(l.ids.Close(), l.runs.Close()) }

// Add examines a row. The rows of a file follow one another; those of a group may
// be anywhere. It keeps nothing of the trajectory. It is not safe for concurrent
// use.
func (l *Lint) Add(r Row) error {
	f := fact{place: place{n: l.n, file: l.file(r.File), line: r.Line, record: r.Record},
		found: l.find(&r), content: contentHash(r.T), pairs: comparesCandidates(r.T)}
	f.score, f.scored = r.score()
	l.n++
	group := xxh3.HashString(r.Group)
	if r.SourceID != "" {
		l.key, l.value = ordered(l.key[:0], idHash(&r), f.n), binary.BigEndian.AppendUint64(l.value[:0], group)
		if err := l.ids.Add(l.key, l.value); err != nil {
			return err
		}
	}
	if group != l.run.group || len(l.run.facts) >= maxRun*factBytes {
		if err := l.endRun(); err != nil {
			return err
		}
		l.run.group, l.run.first = group, f.n
	}
	l.run.facts = f.append(l.run.facts)
	return nil
}

// endRun adds the last run to the others.
func (l *Lint) endRun() error {
	if len(l.run.facts) == 0 {
		return nil
	}
	l.key = ordered(l.key[:0], l.run.group, l.run.first)
	err := l.runs.Add(l.key, l.run.facts)
	l.run.facts = l.run.facts[:0]
	return err
}

// file returns the index of a row's file.
func (l *Lint) file(name string) uint32 {
	if n := len(l.files); n == 0 || l.files[n-1] != name {
		l.files = append(l.files, name)
	}
	return uint32(len(l.files) - 1)
}

// repeated adds the rows whose id an earlier row has, each after the hash of its
// group.
func (l *Lint) repeated(to Sorter) error {
	var last uint64
	first := true
	for r, err := range l.ids.Sorted() {
		if err != nil {
			return err
		}
		id, n := split(r.Key)
		if !first && id == last {
			l.key = ordered(l.key[:0], binary.BigEndian.Uint64(r.Value), n)
			if err := to.Add(l.key, nil); err != nil {
				return err
			}
		}
		last, first = id, false
	}
	return nil
}
