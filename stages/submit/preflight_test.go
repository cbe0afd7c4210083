package submit_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestADryRunSendsAndRecordsNothing(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.DryRun = true
	result, err := submit.Run(t.Context(), o)
	if err != nil || result.Stats.Groups != 3 || result.Stats.Tokens != 24 || !strings.Contains(result.Message, "would send 3 groups, 12 trajectories") {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, call := range server.Calls() {
		if !strings.HasPrefix(call, "GET ") {
			t.Errorf("it sent %s", call)
		}
	}
	if _, err := os.Stat(place.Ledger + "/.rollmill"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it left a record")
	}
	o.DryRun = false
	completes(t, o)
	if got := int64(len(server.Batches()[0].Raw)); got != result.Stats.Bytes {
		t.Errorf("%d bytes were announced, %d sent", result.Stats.Bytes, got)
	}
	o.DryRun = true
	if result, err := submit.Run(t.Context(), o); err != nil || !strings.Contains(result.Message, "nothing would be sent") {
		t.Errorf("%s, %v", result.Message, err)
	}
}

func TestBadRowsAreNamedAndNothingIsSent(t *testing.T) {
	server, place := place(t, arttest.Faults{})
	bad := backendtest.Group(1)
	bad[2].Messages[1].TokenIDs = nil
	flat := backendtest.Group(2)
	for i := range flat {
		flat[i].Reward = flat[0].Reward
	}
	o := options(t, place)
	o.In.URI = curated(t, t.TempDir()+"/bad", backendtest.Group(0), bad, flat)
	for _, dry := range []bool{true, false} {
		o.DryRun = dry
		result, err := submit.Run(t.Context(), o)
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "flat 1, no_token_ids 1") ||
			!strings.Contains(err.Error(), bad[2].TrajectoryID) {
			t.Errorf("%v", err)
		}
		if len(result.Problems) != 2 || result.Failures[art.NoTokenIDs] != 1 {
			t.Errorf("%+v", result.Problems)
		}
		if fault.HintOf(err) == "" || !strings.Contains(fault.HintOf(err), "vLLM") {
			t.Errorf("hint of %v", err)
		}
	}
	if _, err := os.Stat(place.Ledger + "/.rollmill"); !errors.Is(err, fs.ErrNotExist) || len(server.Batches()) != 0 {
		t.Error("something was begun")
	}
}

func TestAdvantageDriftIsReported(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	rows := backendtest.Group(0)
	for i := range rows {
		a := float64(i) - 3 // not what ART makes of these rewards
		rows[i].Advantage = &a
	}
	o := options(t, place)
	o.In.URI = curated(t, t.TempDir()+"/drifted", rows)
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	r := completes(t, o)
	for _, text := range []string{log.String(), r.Receipt.Message} {
		if !strings.Contains(text, "ART recomputes advantages") || !strings.Contains(text, "1 of 1 groups") {
			t.Errorf("%s", text)
		}
	}
}

func TestADryRunEstimatesTokensAndCost(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	o := options(t, place)
	o.DryRun = true
	result, err := submit.Run(t.Context(), o)
	// Each row: a prompt of 5 tokens and 2 sampled ones.
	if err != nil || result.Stats.Total != 12*7 || result.Stats.Cost != nil ||
		!strings.Contains(result.Message, "about 84 tokens with their context, at an unknown price (--price)") {
		t.Errorf("%+v, %s, %v", result.Stats, result.Message, err)
	}
	o.Price = 3e6 / 84
	result, err = submit.Run(t.Context(), o)
	if err != nil || result.Stats.Cost == nil || *result.Stats.Cost != 3 || !strings.Contains(result.Message, "about 3 at the price given") {
		t.Errorf("%+v, %s, %v", result.Stats, result.Message, err)
	}
	if !slices.Contains(result.Stats.Checks, art.Flat) || !slices.Contains(result.Stats.Checks, art.TooLong) {
		t.Errorf("%v", result.Stats.Checks)
	}
}

func TestADryRunNamesEveryRowThatCannotGo(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	groups := make([][]formats.Trajectory, 60)
	for i := range groups {
		groups[i] = backendtest.Group(i)
		for k := range groups[i] {
			groups[i][k].Messages[1].TokenIDs = nil
		}
	}
	o := options(t, place)
	o.In.URI, o.DryRun = curated(t, t.TempDir()+"/bad", groups...), true
	result, err := submit.Run(t.Context(), o)
	if !errors.Is(err, fault.ErrInvalid) || len(result.Problems) != 240 || result.Problems[239].TrajectoryID != groups[59][3].TrajectoryID ||
		result.Problems[239].Reason != art.NoTokenIDs {
		t.Errorf("%d problems, %v", len(result.Problems), err)
	}
}
