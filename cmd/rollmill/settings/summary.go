package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/stages"
)

// FinishStage prints the summary of a stage and the URI of its dataset.
func FinishStage(s *cli.Session, r stages.Report, object any, err error) error {
	if gate := (*manifest.GateError)(nil); err == nil || errors.As(err, &gate) {
		s.Reported(s.Place, r)
	}
	if err != nil {
		return err
	}
	s.Say("%s", Summary(r))
	return s.Result(r.URI, object)
}

// Summary returns a report as one line.
func Summary(r stages.Report) string {
	var b strings.Builder
	b.WriteString(r.Stage + ": ")
	if r.UpToDate {
		b.WriteString("up to date, ")
	}
	if r.Message != "" {
		b.WriteString(r.Message)
	} else {
		b.WriteString(counts(r))
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "; shards still missing: %s", plural.Numbers(r.Missing))
	}
	if !r.UpToDate {
		fmt.Fprintf(&b, " (%.1f s)", r.Seconds)
	}
	return b.String()
}

// counts returns the counts of a report, for a stage that has no message.
func counts(r stages.Report) string {
	text := plural.Of(r.Rows, "row")
	for _, table := range []struct {
		name   string
		counts map[string]int64
	}{{"", r.Counts}, {"dropped: ", r.Drops}, {"failed: ", r.Failures}} {
		if list := terminal.Tally(table.counts); list != "" {
			text += "; " + table.name + list
		}
	}
	return text
}
