package stages

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// SlowDigest stands for the value of a variable or a setting where it must be
// told from other values but not be kept. It is slow to compute on purpose (tens
// of milliseconds) and differs from name to name, so that nobody looks values up
// in a table. A value that is easily guessed can still be guessed from it: it
// protects keys, not four digits.
func SlowDigest(name, value string) string {
	sum, err := pbkdf2.Key(sha256.New, value, []byte("rollmill "+name), rounds, 16)
	if err != nil {
		panic("stages: " + err.Error()) // of lengths that are constants
	}
	return digested + hex.EncodeToString(sum)
}

// IsSlowDigest reports whether a value was made by SlowDigest.
func IsSlowDigest(value string) bool {
	return len(value) > len(digested) && strings.HasPrefix(value, digested)
}

const (
	rounds   = 100_000
	digested = "pbkdf2-sha256:"
)
