package recorder

import "testing"

func TestAnswersOfModels(t *testing.T) {
	for _, c := range []struct {
		asked, got string
		accept     []string
		ok         bool
		version    int64 // -1 for none
	}{
		{"run", "run", nil, true, -1},
		{"run", "", nil, true, -1},
		{"run", "run@7", nil, true, 7},
		{"run@7", "run@7", nil, true, 7},
		{"run@7", "", nil, true, 7},
		{"run@7", "run@8", nil, false, 8},
		{"run@7", "run", nil, false, -1},
		{"run", "base/model", nil, false, -1},
		{"run", "base/model", []string{"base/model"}, true, -1},
		{"run", "base/model", []string{"*"}, true, -1},
		{"gpt-4o", "gpt-4o-2024-08-06", nil, true, -1},
		{"gpt-4o", "gpt-4o-mini", nil, false, -1},
		{"run", "run2", nil, false, -1},
	} {
		v, ok := matchModel(c.asked, c.got, c.accept)
		version := int64(-1)
		if v != nil {
			version = *v
		}
		if ok != c.ok || version != c.version {
			t.Errorf("asked %q, answered by %q: %v, version %d", c.asked, c.got, ok, version)
		}
	}
}
