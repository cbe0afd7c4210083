package main

import (
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
)

func TestMain(m *testing.M) {
	debug.SetMemoryLimit(math.MaxInt64 - 1) // commands that run in this process set no other
	testscript.Main(m, map[string]func(){"rollmill": func() { os.Exit(app().Main()) }, "opencounted": openCounted,
		"echotrainer": echoTrainer, "onereward": oneReward, "nopolicy": noPolicy, "nolinks": noLinks})
}

// trajectoriesAt returns the rows of a dataset of trajectories.
func trajectoriesAt(t *testing.T, uri string) []formats.Trajectory {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{Kind: schema.KindTrajectories})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadAll[formats.Trajectory](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
