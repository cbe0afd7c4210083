package storetime

import (
	"testing"
	"time"

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

// TestAPauseMakesNothingNewer: what was there when the command began is not newer because the machine was slow at one moment.
func TestAPauseMakesNothingNewer(t *testing.T) {
	b, err := storage.Open(t.Context(), s3test.Start(t).URI("pause"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Write(t.Context(), "before", nil); err != nil {
		t.Fatal(err)
	}
	paused := false
	slow := b.WithHook(func(op, key string) error {
		if op == "list" && !paused {
			paused = true
			time.Sleep(4 * Coarse(b))
		}
		return nil
	})
	if newer, err := Newer(Began(t.Context(), time.Now()), slow, "before"); newer || err != nil || !paused {
		t.Errorf("newer %v, paused %v, %v", newer, paused, err)
	}
	began := Began(t.Context(), time.Now().Add(-time.Minute))
	if newer, err := Newer(began, b, "before"); !newer || err != nil {
		t.Errorf("written after the command began: %v, %v", newer, err)
	}
}
