package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
)

// Examples is what is attempted, in the order that the rows will have; package
// formats/examples reads such. No id is empty, and none comes twice. It is safe
// for concurrent use.
type Examples interface {
	Len() int
	At(i int) (formats.Example, error)
	Find(id string) (i int, ok bool, err error)
}

// digestExamples covers what was read from the file, whichever rows and
// fields of it were chosen.
func digestExamples(all Examples, chosen tasks) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for i := range chosen.len() {
		e, err := all.At(chosen.at(i).example)
		if err != nil {
			return "", err
		}
		if err := enc.Encode([]string{e.ID, e.Question, e.Answer, string(e.Fields)}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
