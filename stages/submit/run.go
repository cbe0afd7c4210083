package submit

import (
	"context"
	"errors"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
)

// Result is what submit prints with --json.
type Result struct {
	stages.Report
	Receipt  *formats.Receipt  `json:"receipt,omitempty"`
	Attached bool              `json:"attached"` // the batch had been submitted before; nothing was sent now
	Load     *formats.Load     `json:"load,omitempty"`
	Problems []formats.Problem `json:"problems,omitempty"` // the first of them; see Counts for all
}

// Run submits a curated dataset to a trainer, once.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	return Result{}, errors.New("submit: under construction")
}
