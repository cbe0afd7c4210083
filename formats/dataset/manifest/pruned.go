package manifest

import (
	"bytes"
	"errors"
	"maps"
	"time"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// prunedFormat is the format of what is left of a pruned dataset in the place
// of its manifest: the manifest, and the field "pruned".
const prunedFormat = "rollmill-pruned/2"

// Pruned is the error of a dataset that was removed on purpose, and what is
// left of it. It is a storage.ErrNotExist.
type Pruned struct {
	At       time.Time `json:"at"`
	Rule     string    `json:"rule"`             // why it was removed: "--keep-epochs 3"
	Written  time.Time `json:"manifest_written"` // when its manifest was
	Manifest *Manifest `json:"-"`                // as it was; its parts are gone
}

func (p *Pruned) Error() string {
	return "pruned on " + p.At.Format(time.DateOnly) + " by " + p.Rule
}

// Unwrap makes errors.Is(err, storage.ErrNotExist) true.
func (*Pruned) Unwrap() error { return storage.ErrNotExist }

// Was reports whether a Ref refers to the dataset as it was.
func (p *Pruned) Was(r Ref) bool { return p.Digest() == r.Digest }

// Digest returns the digest of references to the dataset as it was.
func (p *Pruned) Digest() string { return p.Manifest.Fingerprint() }

// PrunedIn returns what is left of the pruned dataset that an error is about;
// nil if it is about none.
func PrunedIn(err error) *Pruned {
	var p *Pruned
	errors.As(err, &p)
	return p
}

// Prune makes a manifest what is left of a pruned dataset.
func (m *Manifest) Prune(p Pruned) {
	m.Format = prunedFormat
	m.other = maps.Clone(m.other)
	m.other["pruned"] = indented(p)
}

// gone returns the error of whoever opens the dataset.
func (p *Pruned) gone(place string) error {
	dir, _ := storage.Split(place)
	return fault.Invalid(dir,
		"make it again with the command that wrote it and --overwrite; rollout then calls the model again", p,
		"the dataset is gone")
}

// decodePruned returns nil for a manifest.
func decodePruned(place string, data []byte) (*Pruned, error) {
	if !bytes.Contains(data[:min(len(data), 100)], []byte(prunedFormat)) {
		return nil, nil
	}
	m, err := decodeAs(prunedFormat, place, data)
	if err != nil {
		return nil, err
	}
	p := &Pruned{Manifest: m}
	if err := unmarshal(m.other["pruned"], p); err != nil {
		return nil, fault.Invalid(place, "", err, "not what is left of a dataset")
	}
	return p, nil
}
