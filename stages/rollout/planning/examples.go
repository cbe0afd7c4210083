package planning

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
)

// Examples are the examples to attempt, in the order of the rows; package
// formats/examples reads such files. No id is empty or occurs twice. It is safe
// for concurrent use.
type Examples interface {
	Len() int
	At(i int) (formats.Example, error)
	Find(id string) (i int, ok bool, err error)
}

// DigestExamples returns the digest of what was read from the file: the chosen
// rows and fields.
func DigestExamples(all Examples, chosen Tasks) (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for i := range chosen.Len() {
		e, err := all.At(chosen.At(i).Example)
		if err != nil {
			return "", err
		}
		if err := enc.Encode([]string{e.ID, e.Question, e.Answer, string(e.Fields)}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
