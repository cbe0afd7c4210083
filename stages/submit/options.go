package submit

import (
	"context"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Options say what to submit, where to, and in which ledger to record it.
type Options struct {
	stages.Env

	In      stages.Input // the curated dataset
	Out     string       // URI of the receipt's prefix, for reports
	Receipt Store        // rooted at Out; holds receipts.File
	Ledger  Store        // rooted at --ledger; the default is the run's root
	Keys    Keys         // of Ledger; nil: submissions to other trainers are not looked for
	Trainer backends.Trainer

	Words     string // flags by which a command has these settings, for hints: "" or as " --config FILE"
	LedgerURI string // for the receipt; "" if no other machine could use it

	Run    string           // default: the run of the first row
	Epoch  int              // recorded in the receipt
	Policy *receipts.Policy // the current policy; the receipt of an empty batch repeats it. nil: the trainer is asked

	MaxStaleness int64   // how many steps older than the trainer a row's policy may be; of a row without one, how many epochs
	Price        float64 // of a million tokens, for the estimate; 0: unknown

	Redact     *redaction.Rules     // change the rows that are sent; part of the key. nil: none
	Advantages exporters.Advantages // with which they are sent; part of the key, if not OfMessages

	Wait         bool          // follow the job to its end (a trainer that trains within the request is always followed)
	PollInterval time.Duration // default 10s
	Timeout      time.Duration // of waiting; 0 for none
	Stall        time.Duration // gives up waiting for a job that shows nothing new; 0 for never
	LeaseTTL     time.Duration // an owner counts as dead after this time without a heartbeat; default 60s

	Overwrite bool // replace the receipt of another batch, one that is not Newer
	DryRun    bool // check and count; send and record nothing

	Newer func(context.Context) (bool, error) // whether the receipt was written after the command began; nil: not known
	Rows  *backends.Place                     // of DryRun: where the trainer writes what it would send; nil: nowhere

	Resubmit       bool     // send the batch although it was, or may have been, submitted before
	AssumeTrained  bool     // settle an ambiguous submission: a person confirmed that it was trained
	Echo           bool     // ask the trainer to give back what it computed for each sequence
	AllowOther     bool     // send the batch although it was sent to another trainer
	AcceptFindings []string // names of audit's checks whose findings do not refuse the batch
	AllowSecrets   bool     // upload rows in which the check validate.Keys found a key
	IgnoreTables   bool     // the batch is treated as one without pairs and labels
}

// Defaults returns options with the defaults of the command line.
func Defaults() Options {
	return Options{PollInterval: 10 * time.Second, Stall: time.Hour, LeaseTTL: time.Minute}
}

// Declare declares the user's options, except the datasets and the ledger.
func (o *Options) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Submission)
	d.Int64(&o.MaxStaleness, "max-staleness",
		"accept rows whose policy is at most `N` steps older than the trainer's, or whose epoch is at most N older if they "+
			"name no policy").Common()
	d.Bool(&o.Wait, "wait", "follow the job to its end").Common()
	DeclareWaiting(d, &o.PollInterval, &o.Timeout, &o.Stall, &o.LeaseTTL)
	d.Bool(&o.Echo, "echo",
		"ask the trainer for the log probabilities that it computes, score the batch by them, beside the receipt, and refuse to go on "+
			"if they are another policy's; backends command and tinker")
	d.Bool(&o.DryRun, "dry-run", "check, count, and name each row that cannot be submitted; send and record nothing").Common()
	d.Float(&o.Price, "price", "estimate the cost at this `PRICE` of a million tokens").Min(0).DefaultShown("unknown")
	d.Bool(&o.AllowOther, "allow-other-trainer", "submit although the batch was submitted to another trainer")
	d.Strings(&o.AcceptFindings, "accept-finding", "submit rows that have the finding `NAME` of import or audit")
	plugin.File(d, &o.Redact, "redact",
		"redact the rows that are sent by the rules in this YAML `FILE`; part of what is submitted", redaction.Load).
		DefaultShown("none")
	plugin.Choice(d, &o.Advantages, "advantages",
		"train by advantages of `WHAT`: one per message, or one per trajectory, which leaves out message losses",
		exporters.OfMessages, exporters.OfTrajectory).DefaultShown(string(exporters.OfMessages))
	d.Bool(&o.AllowSecrets, "allow-secrets", "upload rows although the audit check keys found a key in them")
	d.Bool(&o.IgnoreTables, "ignore-pairs",
		"ignore the batch's _pairs and _labels: compare each group's best with its worst, and label by the advantage")
	d.Bool(&o.Resubmit, "resubmit", "submit again although the batch was, or may have been, submitted before")
	d.Bool(&o.AssumeTrained, "assume-trained", "confirm that an ambiguous submission was trained")
}

// DeclareWaiting declares the settings for waiting for a job.
func DeclareWaiting(d *plugin.Declarer, poll, timeout, stall, ttl *time.Duration) {
	d.Duration(poll, "poll-interval", "poll the job's state every `TIME`")
	d.Duration(timeout, "timeout", "wait at most `TIME`; the same command then attaches to the job").DefaultShown("none")
	d.Duration(stall, "stall-timeout",
		"stop waiting for a job without progress, or for a training whose end was not seen, after `TIME`; 0 for never")
	d.Duration(ttl, "lease", "treat a submitter as dead after `TIME` without a heartbeat")
}
