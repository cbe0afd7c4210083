package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/foreign"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/stages/plugin"
)

// importer is a format as a plug-in; formats do not know plug-ins.
type importer struct{ importers.Format }

func (f importer) Plugin() plugin.Kind[*plugin.None] {
	return plugin.Kind[*plugin.None]{Name: f.Name, Help: f.Help, About: f.about(), New: plugin.NewNone}
}

// about returns where the format is specified, which files of a folder are read,
// and what --map can name.
func (f importer) about() string {
	var b strings.Builder
	if f.Spec != "" {
		fmt.Fprintf(&b, "Specified in %s.\n", f.Spec)
	}
	fmt.Fprintf(&b, "Files that are read in a folder: *%s.\n", strings.Join(f.Extensions, ", *"))
	if f.Log {
		b.WriteString("\nIt is the format of a log: keys are redacted unless --redact says otherwise, and members that hold an\n" +
			"end user's id, name or address are left out of the metadata unless --keep-metadata names them. --group-by\n" +
			"finds them all the same; what it finds becomes the example's id, which is not redacted.\n")
	}
	if f.Fields == nil {
		return b.String()
	}
	width := 0
	for _, x := range f.Fields {
		width = max(width, len(x.Name))
	}
	b.WriteString("\nNames for --map NAME=COLUMN:\n\n")
	for _, x := range f.Fields {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, x.Name, x.Help)
	}
	return b.String()
}

var importFormats = plugin.NewRegistry("importer", func() (list []importer) {
	for _, f := range foreign.Importers {
		list = append(list, importer{f})
	}
	return list
}()...).Moved(map[string]string{
	"inspect":       "run `python -m rollmill.inspect LOG... > rows.jsonl`, of the Python package, and import that with --from rows",
	"inspect-scout": "run `python -m rollmill.inspect --scout FOLDER > rows.jsonl`, of the Python package, and import that with --from rows",
})

var importCommand = cli.Command{
	Name:     "import",
	Heading:  settings.DataHeading,
	Usage:    "make a dataset of trajectories that other programs stored",
	Required: "--from and --in",
	About: `Takes the place of rollout: score, group, curate and submit read what it writes.
Rewards, labels, preferences, token ids, logprobs and versions are imported where
the format has them; whatever has no column is kept in metadata. Several attempts
at one prompt become one group (--group-by). Ids are the same wherever and however
often the files are imported.

A record that cannot be converted, or that has something no row can hold, ends the
import with its file and line, unless --lossy drops and counts it. The end of every
import, and --check without writing anything, report for which kinds of training
the trajectories can be used, and what is missing for the others; --check ends with 3
if training on some rows would be wrong. They list each member of the records by
path and type, and what became of it: read, kept in metadata, unread, withheld,
as members with the name of a secret (api_key, authorization, headers) are, or left
out, as those about an end user are from logs of gateways and traces. To find
that out, the first records that have a member are read again without it. Of the values of
a repeated JSON key the last counts, as in Python, and NaN and infinities are null,
as no JSON number is: both count as parts that no row can hold, except a NaN that
stands for a missing score.

With --new, each import takes what no earlier one of the run read, into the run's next
epoch, and each call once, however its objects grow, are copied or come late. It ends
with 0 and without a dataset when nothing is new, and with 75 while another one is at
work. "Every night" in rollmill help importing says what becomes of late calls.

  rollmill import --from chat --in conversations.jsonl --out data/imported
  rollmill import --from chat --in 'data/*.parquet' --map messages=dialog --map reward=score --out data/imported
  rollmill import --from harbor --in jobs/run-7 --check
  rollmill import --from chat --in 'calls/*.jsonl' --merge calls --merge-by session_id --out data/imported
  rollmill import --from litellm --in s3://bucket/logs --merge calls --new --root runs/traces

` + importFindings(),
	Body: cli.With(func() *importSettings {
		return &importSettings{ImportOptions: convert.ImportDefaults(), From: plugin.Pick(importFormats, ""),
			RunPlace: settings.RunPlace{Usage: "name the run `NAME`, which is written to the column run; trajectory ids do not " +
				"depend on it"},
			Target:   settings.Target{Otherwise: "<root>/epoch-<epoch>/rollout"},
			Spilling: settings.Spilling{What: "what the report counts, and trajectories whose groups are not adjacent in the source,"}}
	}, runImport),
}

// importFindings returns a line for each finding of the report.
func importFindings() string {
	var b strings.Builder
	b.WriteString("Findings of the report:\n\n")
	for _, c := range validate.In(validate.Import) {
		fmt.Fprintf(&b, "  %-24s %s\n", c.Name, c.Help)
	}
	return b.String()
}

type importSettings struct {
	convert.ImportOptions
	From   plugin.Chosen[*plugin.None, importer]
	In     []string
	Check  bool
	Accept []string
	settings.RunPlace
	settings.Target
	settings.Spilling
	settings.Monitored
}

func (c *importSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	plugin.Choose(d, &c.From, "from", "read files of this `FORMAT`").Common()
	d.Strings(&c.In, "in", "read the file (it may be compressed: .gz, .zst), the files that match a pattern such as "+
		"'data/*.jsonl', or all files of the format in the folder at this `URI`").Common()
	d.Bool(&c.Check, "check", "write nothing; report what the trajectories can be used for").Common()
	d.Bool(&c.ShowValues, "show-values",
		"show the beginning of a value of each member in the report; keys are redacted")
	acceptedFindings(d, &c.Accept, "let --check end with 0 although rows have the finding `NAME`")
	d.Include(&c.ImportOptions)
	d.Include(&c.RunPlace)
	d.Include(&c.Target)
	d.Include(&c.Spilling)
	d.Include(&c.Monitored)
}

func runImport(ctx context.Context, s *cli.Session, c *importSettings) error {
	epoch := 0
	if c.ImportOptions.Epoch != nil {
		epoch = *c.ImportOptions.Epoch
	}
	c.Place(s, &epoch, false)
	o, err := c.options(ctx, s)
	if err != nil {
		return err
	}
	accepted, err := validate.Accept(c.Accept)
	if err != nil {
		return err
	}
	settings.LimitGarbage()
	defer settings.CollectLate(128 << 20)()
	if c.Check {
		r, err := convert.CheckImport(ctx, o)
		if err != nil {
			return err
		}
		if err := s.Print(r, r.WriteText); err != nil {
			return err
		}
		if !r.Complete() {
			return cli.Exit{Code: cli.ExitInput, What: "an import would be refused for what is listed first"}
		}
		if names := r.Checks.Refuses(accepted); names != nil {
			return cli.Exit{Code: cli.ExitGate, What: "training on some rows would be wrong: " + strings.Join(names, ", ") +
				" (--accept-finding NAME accepts them)"}
		}
		return nil
	}
	out := c.Layout().Stage(epoch, "rollout")
	if o.New {
		_, o.Root = c.Both()
		o.Dataset, out = func(epoch int) string { return c.Layout().Stage(epoch, "rollout") }, ""
	}
	if o.Out, err = c.Target.Open(s, out); err != nil {
		return err
	}
	r, err := convert.Import(ctx, o)
	if err == nil && r.New != nil && r.URI == "" {
		s.Say("import: nothing new to import; %s", r.New)
		return s.PrintText(r, "")
	}
	if err == nil && !r.UpToDate {
		var b strings.Builder
		if r.New != nil {
			fmt.Fprintln(&b, r.New)
		}
		_ = r.WriteSummary(&b) // a Builder does not fail
		if len(r.Checks.Findings) > 0 {
			b.WriteString("(rollmill import --check says what to do about findings)")
		}
		s.Say("%s", strings.TrimRight(b.String(), "\n"))
	}
	return settings.FinishStage(s, r.Report, r, err)
}

// options returns the options of the stage, without its output.
func (c *importSettings) options(ctx context.Context, s *cli.Session) (convert.ImportOptions, error) {
	o := c.ImportOptions
	if c.From.Name == "" {
		return o, cli.Usagef("name the format of the files: "+strings.Join(importFormats.Names(), ", "), "no --from")
	}
	format, _, err := c.From.Get()
	if err != nil {
		return o, err
	}
	o.Format, o.Env, o.Spill = format.Format, s.Env(), c.Limits()
	o.Run, _ = c.Both()
	o.Root = c.RunPlace.Root
	if file, named := strings.CutPrefix(o.GroupBy, "@"); named {
		if o.Groups, err = readGroups(ctx, file); err != nil {
			return o, err
		}
	}
	o.Source, o.Files, err = importFiles(ctx, c.In, &format.Format)
	if o.New && errors.Is(err, errNoFiles) {
		o.Missing, err = err, nil
	}
	return o, err
}

// acceptedFindings declares the setting of a command that reads rows which may have findings.
func acceptedFindings(d *plugin.Declarer, to *[]string, help string) {
	d.Strings(to, "accept-finding", help)
}
