// Package conformance is the test suite that every kind of bucket passes; it
// defines what storage.Bucket means. A new scheme passes all of it before it is
// used, and `rollmill check --store` runs it on a user's own bucket.
//
// To add a case: add a function to All, and say in its comment what users of a
// bucket rely on.
package conformance

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/storage"
)

// T receives the failures of a case. A *testing.T is one. Fatal ends the case.
type T interface {
	Context() context.Context
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// A Case is one property of buckets. Test gets an empty bucket.
type Case struct {
	Name string
	Test func(T, *storage.Bucket)
}

// All is the list of cases.
var All = []Case{
	{"what is written is read", written},
	{"replacing", replacing},
	{"one winner", oneWinner},
	{"swapping", swapping},
	{"one swap", oneSwap},
	{"content returns", contentReturns},
	{"big races", bigRaces},
	{"drafts are invisible", drafts},
	{"replaced whole", replacedWhole},
	{"listing", listing},
	{"ranges", ranges},
	{"odd keys", oddKeys},
	{"keys that lead out", keysOut},
	{"big objects", bigObjects},
	{"kinds of errors", kinds},
	{"cancelled", cancelled},
	{"deleting", deleting},
	{"create and delete race", createAndDelete},
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func keys(t T, b *storage.Bucket, prefix string) []string {
	t.Helper()
	var out []string
	for o, err := range b.List(t.Context(), prefix) {
		must(t, err)
		out = append(out, o.Key)
	}
	return out
}

func wantKeys(t T, b *storage.Bucket, prefix string, want ...string) {
	t.Helper()
	if got := keys(t, b, prefix); !slices.Equal(got, want) {
		t.Errorf("listing %q: %q, want %q", prefix, got, want)
	}
}
