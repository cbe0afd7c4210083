package rollout_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// titled asks for its work with a tool, and then for a title.
type titled struct{}

func (titled) Describe() agents.Description { return agents.Description{Kind: "titled"} }

func (titled) Close() error { return nil }

func (titled) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	for _, q := range []string{
		`"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`,
		`"messages":[{"role":"system","content":"titles"},{"role":"user","content":"do it"}]`,
	} {
		resp, err := at.HTTP.Post(at.BaseURL+"/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"model":%q,%s}`, at.Model, q)))
		if err != nil {
			return agents.Result{}, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.Body.Close(); err != nil {
			return agents.Result{}, err
		}
	}
	return agents.Result{}, nil
}

// TestRowsOfAuxiliaryCalls: the answer, the sampled tokens and the main path are those of the work, the manifest counts
// the calls for titles, and names the rule if it is off.
func TestRowsOfAuxiliaryCalls(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: func(q recordertest.Request) recordertest.Reply {
		if q.Messages[0].Content == "titles" {
			return recordertest.Reply{Content: "A title", Finish: "content_filter"}
		}
		return recordertest.Reply{Content: "It is done."}
	}}
	e.Start(t)
	for mode, want := range map[tree.AuxiliaryMode]struct {
		answer, status string
		calls          float64
		param          any
	}{
		"":                  {"It is done.", outcomes.StatusOK, 1, nil},
		tree.AuxiliaryTrain: {"A title", outcomes.StatusFailed, 0, "train"},
	} {
		o := optionsAt(e.URL(), filepath.Join(t.TempDir(), "out"), 1)
		o.Generations, o.Agent, o.Auxiliary, o.MaxFailureRate, o.MaxInitialFailures = 1, titled{}, mode, new(1.0), -1
		r := run(t, o)
		row := rows(t, o.Out.URI)[0]
		sampled := 0
		for i := range row.Messages {
			if row.Trained(i) {
				sampled += len(row.Messages[i].Logprobs)
			}
		}
		if row.Answer != want.answer || row.Status != want.status || row.SampledTokens != int32(sampled) || len(row.Calls) != 2 {
			t.Errorf("%q: %s, %s, %d sampled tokens of %d, %d calls", mode, row.Answer, row.Status, row.SampledTokens, sampled, len(row.Calls))
		}
		if r.Facts["auxiliary_calls"] != want.calls || strings.Contains(r.Message, "1 auxiliary call, ") != (want.calls > 0) {
			t.Errorf("%q: %v, %s", mode, r.Facts, r.Message)
		}
		if got := opened(t, o.Out.URI).Params["auxiliary"]; got != want.param {
			t.Errorf("%q: the manifest says %v", mode, got)
		}
	}
}
