package recorder_test

import (
	"context"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// TestAFailedCallIsLostUntilALaterOneIsAnswered, one to the model that is
// trained.
func TestAFailedCallIsLostUntilALaterOneIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string // what becomes of each: "ok", "500", "400", and of another model "other"
		class string
	}{
		"answered":               {[]string{"ok"}, ""},
		"failed at last":         {[]string{"ok", "500"}, outcomes.FailEngine},
		"refused at last":        {[]string{"ok", "400"}, outcomes.FailEngineRefused},
		"recovered":              {[]string{"500", "ok"}, ""},
		"another model answered": {[]string{"500", "other"}, outcomes.FailEngine},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			e := &recordertest.Engine{Fault: func(int, recordertest.Request) fault {
				return map[string]fault{"500": {Status: 500}, "400": {Status: 400}}[c.calls[n]]
			}}
			s := record(t, e, func(o *recorder.Options) { o.Retries = -1 }).Begin(context.Background(), "t", "g")
			for n = range c.calls {
				q := fields{}
				if c.calls[n] == "other" {
					q["model"] = "judge"
				}
				ask(t, s, q, user("one"))
			}
			rec := s.End()
			if got := rec.LostCall; (got == nil) != (c.class == "") || got != nil && got.Class != c.class {
				t.Errorf("lost %+v, want class %q", got, c.class)
			}
		})
	}
}
