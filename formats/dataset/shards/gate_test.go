package shards

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestGates(t *testing.T) {
	ctx := context.Background()
	limit := 0.5
	spec := wideSpec()
	spec.Gates = []manifest.Gate{{Name: "max-failure-rate", Count: "failed", Of: "rows", Max: &limit}}
	begin := func(t *testing.T, uri string, spec manifest.Spec, shard int) (*Shard, *TableWriter[formats.Trajectory]) {
		s, err := Begin(ctx, uri, spec, Options{Shard: shard, Of: 2})
		if err != nil {
			t.Fatal(err)
		}
		return s, NewTable[formats.Trajectory](s, "", -1)
	}
	places(t, func(t *testing.T, uri string) {
		s, w := begin(t, uri, spec, 0)
		if err := w.Write(ctx, group(0, 4)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, Outcome{Counts: map[string]int64{"failed": 4}}); err != nil {
			t.Fatal("a gate looked at one shard alone:", err)
		}
		s, w = begin(t, uri, spec, 1)
		if err := w.Write(ctx, group(1, 2)); err != nil {
			t.Fatal(err)
		}
		res, err := s.Commit(ctx, Outcome{Counts: map[string]int64{"ok": 2}})
		var gate *manifest.GateError
		if !errors.As(err, &gate) || res.Sealed == nil || res.Rows != 2 {
			t.Fatalf("%+v, %v", res, err)
		}
		if !strings.Contains(err.Error(), "failed is 0.6667, above 0.5") ||
			!strings.Contains(fault.HintOf(gate), "--accept-gate max-failure-rate. After fixing the cause, rollout --retry-failed ") {
			t.Errorf("%v; %s", err, fault.HintOf(gate))
		}
		if _, err := dataset.Open(ctx, uri, dataset.OpenOptions{}); !errors.As(err, &gate) {
			t.Errorf("a refused dataset is read: %v", err)
		}
		if _, err := dataset.Open(ctx, uri, dataset.OpenOptions{AcceptGates: []string{"max-failure-rate"}}); err != nil {
			t.Error(err)
		}
		again, _ := begin(t, uri, spec, 0)
		if _, err := again.Commit(ctx, Outcome{}); !errors.As(err, &gate) {
			t.Errorf("the second run: %v", err)
		}
		higher := 0.7
		spec := spec
		spec.Gates = []manifest.Gate{{Name: "max-failure-rate", Count: "failed", Of: "rows", Max: &higher}}
		again, _ = begin(t, uri, spec, 0)
		if !again.UpToDate() {
			t.Error("a gate changed the identity")
		}
		if _, err := again.Commit(ctx, Outcome{}); err != nil {
			t.Errorf("with a higher limit: %v", err)
		}
		open(t, uri)
	})
}

func TestGateNumbers(t *testing.T) {
	limit := 3.0
	m := &manifest.Manifest{Content: manifest.Content{Rows: 10, Counts: map[string]int64{"ok": 4}, Drops: map[string]int64{"flat": 6}, Facts: map[string]float64{"groups": 2.5}}}
	for _, c := range []struct {
		gate    manifest.Gate
		value   float64
		refused bool
	}{
		{manifest.Gate{Count: "rows", Min: &limit}, 10, false},
		{manifest.Gate{Count: "ok", Max: &limit}, 4, true},
		{manifest.Gate{Count: "flat", Of: "ok"}, 1.5, false},
		{manifest.Gate{Count: "groups", Min: &limit}, 2.5, true},
		{manifest.Gate{Count: "never seen", Min: &limit}, 0, true},
		{manifest.Gate{Count: "ok", Of: "never seen", Max: &limit}, 0, false},
	} {
		got := manifest.Judge(m, []manifest.Gate{c.gate})[0]
		if got.Value != c.value || got.Refused != c.refused {
			t.Errorf("%+v: %v, refused %v", c.gate, got.Value, got.Refused)
		}
	}
}

// Other gates are evaluated on what the records say, never on numbers that someone
// wrote into the manifest.
func TestNewGatesDoNotBelieveAChangedManifest(t *testing.T) {
	places(t, func(t *testing.T, uri string) {
		spec := wideSpec()
		write(t.Context(), t, uri, spec, Options{}, 3)
		b, err := storage.Open(t.Context(), uri)
		check(t, err)
		raw, err := b.Read(t.Context(), manifest.FileName)
		check(t, err)
		check(t, b.Write(t.Context(), manifest.FileName, bytes.Replace(raw, []byte(`"ok": 12`), []byte(`"ok": 13`), 1)))
		lowest := 12.5
		spec.Gates = []manifest.Gate{{Name: "min-ok", Count: "ok", Min: &lowest}}
		s, err := Begin(t.Context(), uri, spec, Options{})
		check(t, err)
		_, err = s.Commit(t.Context(), Outcome{})
		invalid(t, err, "the manifest is not what the shards' records say")
	})
}
