package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/report"
)

// shownRun is what show prints of a run's folder.
type shownRun struct {
	history.Run
	Next string `json:"next"` // the command of the first stage that the last epoch lacks, or report
}

func showRun(ctx context.Context, uri string) (*shownRun, error) {
	run, err := report.Make(ctx, report.Options{Root: uri, NoFiles: true})
	if err != nil {
		return nil, err
	}
	last := run.Epochs[len(run.Epochs)-1]
	v := &shownRun{run, fmt.Sprintf("rollmill report '%s'", run.Root)}
	for _, stage := range []string{"rollout", "score", "group", "curate", "submit"} {
		if last.Datasets[stage] == "" && (stage != "submit" || last.Receipt == nil) {
			v.Next = fmt.Sprintf("rollmill %s --root '%s' --epoch %d", stage, run.Root, last.Epoch)
			break
		}
	}
	return v, nil
}

func (v *shownRun) writeText(w io.Writer) error {
	fmt.Fprintf(w, "run %s\n", v.Root)
	for _, e := range v.Epochs {
		all := slices.Concat(slices.Sorted(maps.Keys(e.Datasets)), slices.Sorted(maps.Keys(e.Scores)))
		fmt.Fprintf(w, "epoch-%d/{%s}\n", e.Epoch, strings.Join(all, ","))
	}
	err := v.WriteTable(w)
	fmt.Fprintf(w, "next: %s\n", v.Next)
	return err
}
