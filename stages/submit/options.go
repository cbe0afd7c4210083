package submit

import (
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/lease"
)

// Options say what to submit, where to, and what to remember it in.
type Options struct {
	stages.Env

	In      stages.Input // the curated dataset
	Out     string       // URI of the receipt's prefix, for reports
	Receipt Store        // rooted at Out; holds formats.ReceiptFile
	Ledger  Store        // rooted at --ledger; the default is the run's root
	Keys    Keys         // of Ledger; nil: submissions to other trainers are not looked for
	Trainer Trainer

	LedgerURI string // for the receipt; "" when nobody else could use it

	Run    string          // default: the run of the first row
	Epoch  int             // recorded in the receipt
	Policy *formats.Policy // what answers now; the receipt of an empty batch repeats it. nil: the trainer is asked

	MaxStaleness int64   // how many steps older than the trainer a row's policy may be; of a row without one, how many epochs
	Price        float64 // of a million tokens, for the estimate; 0: unknown

	Wait         bool          // follow the job to its end (a trainer that trains within the request is always followed)
	PollInterval time.Duration // default 10s
	Timeout      time.Duration // of waiting; 0 for none
	Stall        time.Duration // gives up waiting for a job that shows nothing new; 0 for never
	LeaseTTL     time.Duration // a silent owner is taken for dead after this; default 60s

	Overwrite      bool     // replace the receipt of another batch
	DryRun         bool     // check and count; send and record nothing
	Resubmit       bool     // send the batch although it was, or may have been, submitted before
	AssumeTrained  bool     // settle an ambiguous submission: somebody looked, and it was trained
	Elsewhere      bool     // send the batch although another trainer has had it
	AcceptFindings []string // names of audit's checks whose findings do not refuse the batch
	IgnoreTables   bool     // a Comparer makes its rows as of a batch without pairs and labels
}

func (o Options) withDefaults() Options {
	if o.PollInterval <= 0 {
		o.PollInterval = 10 * time.Second
	}
	if o.LeaseTTL <= 0 {
		o.LeaseTTL = time.Minute
	}
	return o
}

// Validate finds what is wrong before anything is read.
func (o Options) Validate() error {
	usage := func(hint, format string, args ...any) error {
		return stages.Errorf(stages.KindUsage, hint, format, args...)
	}
	switch {
	case o.In.URI == "":
		return usage("name the curated dataset: --in URI", "submit: no input")
	case o.Trainer == nil:
		return usage("name one: --backend art", "submit: no backend")
	case o.Receipt == nil && !o.DryRun:
		return usage("name a place: --out URI", "submit: no place for the receipt")
	case o.Ledger == nil && !o.DryRun:
		return usage("name a place: --ledger URI", "submit: no ledger")
	case o.Resubmit && o.AssumeTrained:
		return usage("--resubmit sends the batch again, --assume-trained never does", "submit: --resubmit and --assume-trained exclude each other")
	case checkFindings(o.AcceptFindings) != nil:
		return checkFindings(o.AcceptFindings)
	case o.Price < 0:
		return usage("", "submit: a price of %g: must be 0 or more", o.Price)
	case o.LeaseTTL < 0 || o.LeaseTTL > 0 && o.LeaseTTL < time.Second || o.LeaseTTL > lease.Most:
		return usage("", "submit: lease of %s: must be at least 1s and at most %s", o.LeaseTTL, lease.Most)
	}
	return nil
}
