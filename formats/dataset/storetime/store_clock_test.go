package storetime

import (
	"testing"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// What was written before Now is not listed as later, by a store that lists parts
// of a second and says whole seconds of one object.
func TestNowIsNotBeforeWhatWasWritten(t *testing.T) {
	b, err := storage.Open(t.Context(), s3test.Start(t).URI("clock"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.Write(t.Context(), "before", nil); err != nil {
			t.Fatal(err)
		}
		now, err := Now(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		left, err := b.ListAll(t.Context(), "")
		if err != nil || len(left) != 1 || left[0].ModTime.After(now) {
			t.Errorf("now %v, then %+v, %v", now, left, err)
		}
	}
}
