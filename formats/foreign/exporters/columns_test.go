package exporters_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign"
)

// TestEveryColumnSaysWhatItHolds: a format that documents its columns documents all.
func TestEveryColumnSaysWhatItHolds(t *testing.T) {
	documented := 0
	for _, f := range foreign.Exporters {
		for _, c := range f.Columns {
			documented++
			if c.Name == "" || strings.HasSuffix(c.Name, ".") || c.Meaning == "" || strings.HasSuffix(c.Meaning, ".") {
				t.Errorf("%s: %+v", f.Name, c)
			}
			if !strings.Contains(f.About(), c.Name+" ") || !strings.Contains(f.About(), c.Meaning+"\n") {
				t.Errorf("%s: its help lacks %q", f.Name, c.Name)
			}
		}
	}
	if documented < 20 {
		t.Errorf("%d columns", documented)
	}
}
