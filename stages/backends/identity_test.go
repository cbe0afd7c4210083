package backends_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
)

func TestSettingsNameWhatChangedAndKeepNoSecret(t *testing.T) {
	settings := func(rate float64, texts map[string]string) backends.Identity {
		s := backends.Identity{}
		s.Add("learning-rate", &rate)
		s.Add("suffix", "")
		s.Add("grader", map[string]any(nil))
		backends.AddAll(s, "settings", texts)
		return s
	}
	was := settings(1e-5, map[string]string{"epochs": "3", "token": "hf_hushhush", "gone": "true"})
	is := settings(2e-5, map[string]string{"epochs": "4", "token": "hf_other", "new": "x"})
	got := strings.Join(was.Differences(is), "; ")
	want := "learning-rate was 0.00001, is 0.00002; settings.epochs was 3, is 4; settings.gone was true, is not set; settings.new was not set, is a text; " +
		"settings.token changed"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if len(was.Differences(was)) != 0 || len(backends.Identity(nil).Differences(nil)) != 0 {
		t.Error("equal settings differ")
	}
	if strings.Contains(fmt.Sprint(was, is), "hush") || len(was) != 4 {
		t.Errorf("%v", was)
	}
}
