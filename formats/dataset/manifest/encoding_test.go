package manifest

import (
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// A version that knows nothing of compaction refuses the manifest of a compacted dataset.
func TestAnotherFormatIsRefused(t *testing.T) {
	data := []byte(`{"format": "` + CompactedFormat + `", "dataset": {"schema": "` + schema.Version + `"}}`)
	_, err := decodeAs(Format, "d/_dataset.json", data)
	if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `format "rollmill-dataset/2.1" is not "rollmill-dataset/2"`) {
		t.Errorf("%v", err)
	}
}
