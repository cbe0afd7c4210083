package rollout_test

import (
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends/openai"
)

// TestTheEngineIsAskedWhatItsLogprobsAre: once, by two requests, whatever its
// requests claim; where it cannot tell the column stays empty.
func TestTheEngineIsAskedWhatItsLogprobsAre(t *testing.T) {
	for _, mode := range []string{formats.LogprobsRaw, formats.LogprobsProcessed, ""} {
		c := &completions{mode: mode}
		e := newEngine(t, &engine{Completions: c})
		o := options(e, filepath.Join(t.TempDir(), "out"), 4)
		o.Probe, o.Prober = true, openai.Probe
		o.Sampling = map[string]any{"temperature": 0.7, "logprobs_mode": "processed_logprobs"}
		report := run(t, o)
		for _, row := range rows(t, o.Out.URI) {
			for _, c := range row.Calls {
				if c.LogprobsMode != mode {
					t.Errorf("%q: a call's logprobs are %q", mode, c.LogprobsMode)
				}
				if _, raw := c.RawTemperature(); raw == (mode == formats.LogprobsProcessed) {
					t.Errorf("%q: its logprobs count as raw: %v", mode, raw)
				}
			}
		}
		asked, judged := len(e.Asked()), c.asked.Load()
		if asked != 4*3+1 || judged > 2 || mode == "" && judged > 1 {
			t.Errorf("%q: %d chats and %d completions for %d rows", mode, asked, judged, report.Rows)
		}
		if again := run(t, o); !again.UpToDate || c.asked.Load() != judged {
			t.Errorf("%q: asked again when nothing is left to do", mode)
		}
	}
}
