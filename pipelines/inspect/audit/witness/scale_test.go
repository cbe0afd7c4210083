package witness_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/pipelines/inspect/audit/witness"
)

// TestManyRows joins COUNT random attempts, 400 without it, with the same in another order and under other ids,
// in little memory: each is joined with its own record, and nothing differs. The cost of a row is the same for any COUNT.
func TestManyRows(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("COUNT"))
	memory := int64(0)
	if err != nil {
		n, memory = 400, 64<<10
	}
	var rows []formats.Trajectory
	for group := range randomtest.Trajectories(5, randomtest.Options{Groups: n / 8, Generations: 8, Messages: 12, SampledTokens: 100, PromptTokens: 100, Scored: true}) {
		rows = append(rows, group...)
	}
	dir := t.TempDir()
	own := write(t, dir+"/own", rows)
	order := rand.New(rand.NewPCG(1, 2))
	order.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	for i := range rows {
		rows[i].TrajectoryID = fmt.Sprintf("%024x", i)
	}
	slices.SortStableFunc(rows, func(a, b formats.Trajectory) int { return int(a.Generation) - int(b.Generation) })
	for i := range rows {
		rows[i].ExampleID, rows[i].Generation = fmt.Sprintf("other %06d", i), 0
	}
	other := write(t, dir+"/other", rows)
	rows = nil
	debug.FreeOSMemory()
	began := time.Now()
	facts, found, err := witness.Run(t.Context(), witness.Options{In: own, Against: other, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	if facts.ByContent != own.Rows || len(found) > 0 {
		t.Errorf("%s\n%s", facts, listed(found))
	}
	t.Logf("%d rows of each in %v", own.Rows, time.Since(began))
}
