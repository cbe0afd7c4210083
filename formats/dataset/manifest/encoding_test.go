package manifest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestWritten checks that the time of a dataset is that of its last shard, survives the file, and is in no digest.
func TestWritten(t *testing.T) {
	first := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	of := func(times ...time.Time) Manifest {
		var records []Record
		for i, at := range times {
			records = append(records, Record{Shard: i, Manifest: Manifest{Format: Format, Written: at,
				Content: Content{Kind: schema.KindScores, Schema: schema.Version, Shards: len(times)}}})
		}
		return Merge(records)
	}
	m := of(first, first.Add(time.Hour), first.Add(time.Minute))
	if !m.Written.Equal(first.Add(time.Hour)) {
		t.Errorf("written at %v", m.Written)
	}
	var read Manifest
	if err := unmarshal(m.Encode(), &read); err != nil || !read.Written.Equal(m.Written) {
		t.Errorf("read %v, %v of\n%s", read.Written, err, m.Encode())
	}
	none := of(time.Time{}, time.Time{}, time.Time{})
	if none.Fingerprint() != m.Fingerprint() || strings.Contains(string(none.Encode()), "written") {
		t.Errorf("the time is in the digest, or one that is not known in the file:\n%s", none.Encode())
	}
}

// A version that knows nothing of compaction refuses the manifest of a compacted dataset.
func TestAnotherFormatIsRefused(t *testing.T) {
	data := []byte(`{"format": "` + CompactedFormat + `", "dataset": {"schema": "` + schema.Version + `"}}`)
	_, err := decodeAs(Format, "d/_dataset.json", data)
	if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), `format "rollmill-dataset/2.1" is not "rollmill-dataset/2"`) {
		t.Errorf("%v", err)
	}
}
