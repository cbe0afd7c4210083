package callstest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/rows"
)

// Recordings returns the attempts of testdata/calls, which the recorder recorded: their calls with the
// prompts as the agents sent them, and their rows, in which auxiliary calls train.
func Recordings(folder fs.FS) (out []*Recorded, err error) {
	calls, err := read(folder, "calls.jsonl.gz")
	if err != nil {
		return nil, err
	}
	recorded, err := read(folder, "recorded.jsonl.gz")
	if err != nil {
		return nil, err
	}
	byAttempt := map[string][]*Logged{}
	for _, row := range calls {
		l := &Logged{Row: row}
		at := ""
		l.Attempt, at, _ = strings.Cut(row.TrajectoryID, "#")
		if l.Index, err = strconv.Atoi(at); err != nil {
			return nil, fmt.Errorf("the call %q: %w", row.TrajectoryID, err)
		}
		l.Row.Metadata = ""
		base := int64(1+len(byAttempt)) * 1_000_000
		if before := byAttempt[l.Attempt]; before != nil {
			base = before[0].Row.StartedAt / 1_000_000 * 1_000_000
		}
		l.Row.StartedAt, l.Row.FinishedAt = base+order(l.Row.StartedAt), base+order(l.Row.FinishedAt)
		byAttempt[l.Attempt] = append(byAttempt[l.Attempt], l)
	}
	for _, row := range recorded {
		attempt := jsonMember(row.Metadata, Session)
		r := Record(attempt, byAttempt[attempt], true)
		if d := Difference(&r.Row, &row); d != "" {
			return nil, fmt.Errorf("%s: walking its calls does not give the row that was recorded: %s", attempt, d)
		}
		r.Row = row
		out = append(out, r)
	}
	return out, nil
}

// order is a time of the files as a number of microseconds: calls that take longer get a latency from it.
func order(at int64) int64 { return at / 1000 % 1_000_000 }

// read returns the rows of a file of lines of format rows.
func read(folder fs.FS, name string) (out []formats.Trajectory, err error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing is lost
	plain, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", name, err)
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		p := rows.Importer.Convert(importers.Record{Data: bytes.Clone(lines.Bytes())})
		if p.Err != nil || len(p.Losses) > 0 {
			return nil, fmt.Errorf("%q row %d: %w %v", name, len(out), p.Err, p.Losses)
		}
		out = append(out, p.Items[0].Row)
	}
	return out, lines.Err()
}

// Rows returns the trajectories of a dataset.
func Rows(ctx context.Context, uri string) ([]formats.Trajectory, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		return nil, err
	}
	r, err := dataset.NewReader[formats.Trajectory](ctx, d, "", d.All())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := make([]formats.Trajectory, d.Rows)
	for n := 0; n < len(out); {
		more, err := r.Read(out[n:])
		if more == 0 {
			return nil, fmt.Errorf("reading %q: row %d: %w", uri, n, err)
		}
		n += more
	}
	return out, nil
}
