package submit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/storage/fault"
)

// The largest size of a record. A receipt contains metric lines, which are cut
// to keepMetrics before it is written.
const (
	maxRecord   = 1 << 20
	maxReceipt  = 64 << 20
	keepMetrics = 16 << 20
)

// damage is what is wrong with an attempt's records. It is not an error of the
// store: reading again gives the same.
type damage struct {
	Record string
	What   string
}

func (d *damage) Error() string { return fmt.Sprintf("the record %q is damaged: %s", d.Record, d.What) }

// A record says what is wrong with what it holds; "" for nothing.
type record interface{ check() string }

// parse reads a whole record, or returns what is wrong with it.
func parse(key string, data []byte, v record) *damage {
	if err := json.Unmarshal(data, v); err != nil {
		return &damage{key, err.Error()}
	}
	if what := v.check(); what != "" {
		return &damage{key, what}
	}
	return nil
}

func (i *intent) check() string {
	switch {
	case i.Format != ledgerFormat:
		return fmt.Sprintf("its format is %q, and this version of rollmill writes %q", i.Format, ledgerFormat)
	case i.Key == "" || i.Attempt < 1 || i.Round < 0:
		return "it names no submission"
	case i.Owner.ID == "":
		return "it names no owner"
	case i.Token != i.Key && !strings.HasPrefix(i.Token, i.Key+"-"):
		return "its token is not of its key"
	case i.Target.Backend == "":
		return "it names no target"
	}
	return ""
}

func (s *sent) check() string {
	return lacks(s.Owner == "" || s.At.IsZero(), "it does not say who sent, and when")
}

func (j *job) check() string {
	return lacks(j.Job == "", "it names no job")
}

func (l *heartbeat) check() string {
	return lacks(l.Owner == "", "it names no owner")
}

func (t *taken) check() string {
	return lacks(t.Owner == "", "it does not say by whom")
}

// lacks returns what a record lacks, if it does.
func lacks(yes bool, what string) string {
	if yes {
		return what
	}
	return ""
}

func (d *done) check() string {
	switch {
	case d.Owner == "":
		return "it does not say who ended the attempt"
	case d.Void == (d.Receipt != nil):
		return "it must hold a receipt or say that nothing was trained"
	case d.Receipt != nil && (d.Receipt.Format != receipts.Format || d.Receipt.Key == "" ||
		!slices.Contains(endStates, d.Receipt.State)):
		return "its receipt is not one of a submission that ended"
	}
	return ""
}

// endStates are the states of the receipt of a submission that ended.
var endStates = []string{receipts.JobNothing, receipts.JobCompleted, receipts.JobFailed, receipts.JobCancelled,
	receipts.JobUntrained}

// damaged returns the error of an attempt with damaged records.
func (s *session) damaged(a *attempt) error {
	help := fmt.Sprintf(`put the record back from a backup; do not delete it, since a missing record means that its step was never made.
  Without a backup look at the trainer (its log, its checkpoints), then run the same command with one flag more:
  --assume-trained if the batch was trained, --resubmit if it was not. The wrong one loses the batch, or trains it twice (the ledger is at %q)`, s.LedgerURI)
	return fault.Errorf(fault.Person, help, "submit: the ledger is damaged: %w", a.damage)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
