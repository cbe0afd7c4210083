package fault

import (
	"errors"
	"io"
	"io/fs"
	"testing"
)

func TestInputErrorsNameThePlaceTheRowAndTheCause(t *testing.T) {
	err := Invalid("s3://b/x", "look closer", io.ErrUnexpectedEOF, "column %q", "reward")
	if got, want := err.Error(), `"s3://b/x": column "reward": unexpected EOF`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !errors.Is(err, ErrInvalid) || !errors.Is(err, io.ErrUnexpectedEOF) || HintOf(err) != "look closer" {
		t.Errorf("kind, cause or hint is lost: %v", err)
	}
	err.Row = 0
	if got, want := err.Error(), `"s3://b/x" row 0: column "reward": unexpected EOF`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bare := range []error{fs.ErrNotExist, errors.New("does not exist")} {
		if err := Invalid("x", "", bare, "there is no task"); err.Error() != `"x": there is no task` || !errors.Is(err, bare) {
			t.Errorf("%v: %v", bare, err)
		}
	}
	if err := Invalid("x", "", nil, "no"); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v has no kind", err)
	}
}
