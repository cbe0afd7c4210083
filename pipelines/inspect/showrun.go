package inspect

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/plural"
)

// RunView is what show prints of the folder of a run.
type RunView struct {
	URI        string     `json:"uri"`
	Epochs     []RunEpoch `json:"epochs"`
	Unfinished []string   `json:"unfinished,omitempty"` // datasets with missing shards
	Problems   []string   `json:"problems,omitempty"`   // what cannot be read
	Next       string     `json:"next"`                 // a command that goes on from here
}

// RunEpoch has the finished datasets of an epoch, in the order of the data.
type RunEpoch struct {
	Epoch    int          `json:"epoch"`
	Datasets []RunDataset `json:"datasets"`
	Receipt  string       `json:"receipt,omitempty"` // state of its submission
}

// RunDataset is a dataset in an epoch's folder.
type RunDataset struct {
	Folder string       `json:"folder"` // in the epoch's: "score", "validation/score"
	Kind   formats.Kind `json:"kind"`
	Rows   int64        `json:"rows"`
	Mean   *float64     `json:"mean_reward,omitempty"` // of scores
}

// ShowRun reads the manifests and receipts of a run. It returns nil for a folder
// without epochs.
func ShowRun(ctx context.Context, uri string) (*RunView, error) {
	found, err := Find(ctx, uri)
	if err != nil {
		return nil, err
	}
	epochs := map[int]*RunEpoch{}
	of := func(folder string) (*RunEpoch, string) {
		first, rest, _ := strings.Cut(folder, "/")
		var n int
		if _, err := fmt.Sscanf(first, "epoch-%d", &n); err != nil || dataset.EpochFolder(n) != first {
			return nil, ""
		}
		if epochs[n] == nil {
			epochs[n] = &RunEpoch{Epoch: n}
		}
		return epochs[n], rest
	}
	for _, d := range found.Datasets {
		if e, folder := of(found.folders[d]); e != nil {
			r := RunDataset{Folder: folder, Kind: d.Kind, Rows: d.Rows}
			if n := d.Counts["scored"]; d.Kind == formats.KindScores && n > 0 {
				mean := d.Facts["reward_sum"] / float64(n)
				r.Mean = &mean
			}
			e.Datasets = append(e.Datasets, r)
		}
	}
	for _, r := range found.Receipts {
		if e, folder := of(r.folder); e != nil && path.Base(folder) == "submit" {
			e.Receipt = r.State
		}
	}
	if len(epochs) == 0 {
		return nil, nil
	}
	v := &RunView{URI: found.Root, Unfinished: found.Unfinished, Problems: found.Problems}
	for _, n := range slices.Sorted(maps.Keys(epochs)) {
		e := epochs[n]
		slices.SortStableFunc(e.Datasets, func(a, b RunDataset) int { return a.place() - b.place() })
		v.Epochs = append(v.Epochs, *e)
	}
	v.Next = v.next()
	return v, nil
}

// stagesOf are the stages of an epoch that write datasets.
var stagesOf = []string{"rollout", "score", "group", "curate"}

// place orders datasets as the data flows; others follow the stages.
func (d RunDataset) place() int {
	if i := slices.Index(stagesOf, d.Folder); i >= 0 {
		return i
	}
	return len(stagesOf)
}

// next returns the command of the first stage that the last epoch lacks, or else
// report.
func (v *RunView) next() string {
	last := v.Epochs[len(v.Epochs)-1]
	for _, stage := range stagesOf {
		if !slices.ContainsFunc(last.Datasets, func(d RunDataset) bool { return d.Folder == stage }) {
			return fmt.Sprintf("rollmill %s --root %s --epoch %d", stage, quoted(v.URI), last.Epoch)
		}
	}
	if last.Receipt == "" {
		return fmt.Sprintf("rollmill submit --root %s --epoch %d", quoted(v.URI), last.Epoch)
	}
	return "rollmill report " + quoted(v.URI)
}

// quoted returns a URI as a word of a shell.
func quoted(uri string) string {
	if strings.ContainsAny(uri, " ?&*$'\"\\()<>|;") {
		return "'" + strings.ReplaceAll(uri, "'", `'\''`) + "'"
	}
	return uri
}

// WriteText writes a line for each epoch.
func (v *RunView) WriteText(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "run\t%s\nepochs\t%s\n", v.URI, plural.Of(len(v.Epochs), "epoch"))
	for _, e := range v.Epochs {
		var parts []string
		for _, d := range e.Datasets {
			text := fmt.Sprintf("%s %d", Line(d.Folder), d.Rows)
			if d.Mean != nil {
				text += fmt.Sprintf(" (mean %.4g)", *d.Mean)
			}
			parts = append(parts, text)
		}
		if e.Receipt != "" {
			parts = append(parts, "submit: "+Line(e.Receipt))
		}
		fmt.Fprintf(out, "epoch %d\t%s\n", e.Epoch, strings.Join(parts, ", "))
	}
	for _, text := range v.Unfinished {
		fmt.Fprintf(out, "unfinished\t%s\n", Line(text))
	}
	for _, text := range v.Problems {
		fmt.Fprintf(out, "problem\t%s\n", Line(text))
	}
	fmt.Fprintf(out, "next\t%s\n", v.Next)
	return out.Flush()
}
