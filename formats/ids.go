package formats

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/zeebo/xxh3"
)

// TrajectoryID returns the id of an attempt: 24 hex digits that depend only on
// the arguments, so that it is the same when the stage is run again.
func TrajectoryID(run, exampleID string, epoch, generation int) string {
	sum := hash("trajectory", run, exampleID, strconv.Itoa(epoch), strconv.Itoa(generation))
	return string(hex.AppendEncode(make([]byte, 0, 24), sum[:12]))
}

// GroupID returns the id of the group of one example in one epoch.
func GroupID(exampleID string, epoch int) string {
	return exampleID + "@" + strconv.Itoa(epoch)
}

// ForkKey takes the place of the example in the group of a fork: the continuations of one
// prefix, which is a trajectory's up to a call, are a group of their own.
func ForkKey(exampleID, forkedFrom string, call int32) string {
	return exampleID + "/" + forkedFrom + "/" + strconv.Itoa(int(call))
}

// GroupOf returns the id of the group of a row that was not grouped; call is nil unless the row is a fork.
func GroupOf(exampleID string, epoch int, forkedFrom string, call *int32) string {
	if call != nil {
		exampleID = ForkKey(exampleID, forkedFrom, *call)
	}
	return GroupID(exampleID, epoch)
}

// Seed derives a seed from a base seed and the names of what needs one: a row
// id, a call number. It is never negative.
func Seed(base int64, names ...string) int64 {
	sum := hash(append([]string{"seed", strconv.FormatInt(base, 10)}, names...)...)
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}

// HeldOut reports whether an example is held out of a batch for validation. A
// share of all examples is, independent of the rows and shards in which they
// are. A share of 0 holds out none.
func HeldOut(seed int64, share float64, example string) bool {
	return float64(Seed(seed, "validation", example)) < share*(1<<63)
}

func hash(parts ...string) [32]byte {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return [32]byte(h.Sum(nil))
}

// StoredID returns the id of a trajectory that another program stored: 24 hex
// digits that depend only on its example, its epoch, and the source's own id or
// a digest of its content. copy tells those apart that have all of these in
// common; it is 0 for the first.
func StoredID(exampleID string, epoch int, own string, copy int) string {
	var some [256]byte
	b := append(some[:0], "stored"...)
	for _, n := range [...]int{epoch, copy, len(exampleID)} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(append(b, exampleID...), own...)
	sum := xxh3.Hash128(b).Bytes()
	return string(hex.AppendEncode(make([]byte, 0, 24), sum[:12]))
}
