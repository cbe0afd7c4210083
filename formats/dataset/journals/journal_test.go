package journals

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestAppendToLostStoreSaysWhatIsLost checks that rows which could not be journalled are not said to be kept.
func TestAppendToLostStoreSaysWhatIsLost(t *testing.T) {
	for want, lost := range map[string]error{"it keeps what the journal has": storage.ErrTemporary, "check the permissions": storage.ErrDenied} {
		bucket, err := storage.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		j := &Journal[formats.Trajectory]{Place: Place{Bucket: bucket.WithHook(func(string, string) error { return lost }), Folder: "journal/"}}
		err = j.Append(t.Context(), []formats.Trajectory{{TrajectoryID: "a"}})
		if hint := fault.HintOf(err); !errors.Is(err, lost) || !strings.Contains(hint, want) || strings.Contains(hint, "finished work is kept") {
			t.Errorf("%v: %q", err, hint)
		}
	}
}
