package stages

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// SlowDigest replaces the value of a variable or a setting that must be distinguished from other
// values but not stored. It is slow on purpose (tens of milliseconds) and differs by name, so
// that values cannot be looked up in a table. A value that is easy to guess can still be found
// from it: it protects keys, not four digits.
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
