package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/cmd/rollmill/settings"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/model"
	"github.com/rollmill/rollmill/pipelines/look/show"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage"
)

var showCommand = cli.Command{
	Name:    "show",
	Heading: settings.LookHeading,
	Usage:   "summarize a dataset, or print its rows, a group or a conversation",
	About: `Without flags the output is a summary that fits a screen: rows by status, tokens,
rewards with a histogram, advantages, parameters. With a flag that chooses rows it
is the whole manifest and a table of the rows. Rows of a thin dataset are joined
with its base where they are needed: for --where, --sort, --columns, --trajectory and
--group. Also shows datasets that a gate refused. Of a run's folder, show lists the
epochs with their datasets, and the next command.

  rollmill show runs/demo

  rollmill show runs/demo/epoch-0/group
  rollmill show runs/demo/epoch-0/group --where 'reward == 0 && calls > 3' --rows 20
  rollmill show runs/demo/epoch-0/score --sort sampled_tokens --desc --rows 10
  rollmill show runs/demo/epoch-0/score --worst 10
  rollmill show runs/demo/epoch-0/group --trajectory 3f8a2c
  rollmill show runs/demo/epoch-0/group --group a@0
  rollmill show runs/demo/epoch-0/group --table _groups --rows 20
  rollmill show runs/demo --search 'no such order'

--search reads the texts of trajectories in a dataset, a run or a folder of runs, and
ignores case: messages, reasoning, tool calls, answers, errors, alternatives to messages
(candidates) and the text files that attempts left (artifacts); not the task's row, nor
workspaces of containers. A trajectory is listed once in a run: in its rollout, with its
last reward. Of a rollout that is not complete, the attempts in its journals are searched.
Exit code 4: some dataset could not be searched, or not whole.

A conversation shows each message with its tool calls, tokens and branches, and
whether it trains. On a terminal, headings are bold (unless NO_COLOR is set) and
long output goes through $PAGER, by default less -R.`,
	Args:        "URI",
	ArgSettings: []string{"in"},
	Scans:       true,
	Body: cli.With(func() *showSettings {
		return &showSettings{Source: settings.Source{Does: "show the dataset", Looks: true}, Options: show.Options{Rows: 5},
			Format: formatText, Limit: 100}
	}, runShow),
}

type showSettings struct {
	settings.Source
	show.Options

	Trajectory, Group, Search, Format string
	Full, SearchRegexp                bool
	Worst, Limit                      int
}

// The values of --format.
const (
	formatText     = "text"
	formatMarkdown = "markdown"
	formatJSON     = "json"
)

func (o *showSettings) Declare(d *plugin.Declarer) {
	d.Include(&o.Source)
	d.Heading(plugin.Input)
	d.String(&o.Table, "table", "show rows of this `TABLE`: _groups, _pairs, _labels, _decisions, _plan, _examples").
		DefaultShown("the main one").Common()
	d.String(&o.Trajectory, "trajectory",
		"show the conversation of the trajectory with this `ID`, or this beginning of one").Common()
	d.String(&o.Group, "group", "show the members of the group with this `ID` side by side").Common()
	d.Int64(&o.First, "first", "start at row `N`, counted from 0").Min(0)
	d.Int(&o.Rows, "rows", "show at most `N` rows").Min(0).Common()
	d.Bool(&o.Failed, "failed", "show only rows of failed trajectories").Common()
	d.String(&o.Where, "where", "show only rows for which `EXPRESSION` is true, as in export --where").Common()
	d.String(&o.Sort, "sort", "sort by this `COLUMN`, also of the base, or an expression; the smallest first, nulls last").Common()
	d.Bool(&o.Desc, "desc", "sort the largest first").Common()
	d.Int(&o.Worst, "worst", "show the `N` rows with the lowest rewards: --sort reward --rows N").Min(0).Common()
	d.Func(func() any { return o.Columns }, func(names string) error {
		o.Columns = strings.Split(names, ",")
		return nil
	}, "columns", "show these `COLUMNS`, such as run,messages, also of the base, in this order, or all").DefaultShown("the usual ones")
	d.String(&o.Search, "search", "list trajectories with this `PATTERN` in their texts; plain text, whose case is ignored").Common()
	d.Bool(&o.SearchRegexp, "search-regexp", "read the pattern of --search as a regular expression (RE2)")
	d.Int(&o.Limit, "limit", "stop --search at `N` trajectories").Min(1)
	d.Heading(plugin.Output)
	plugin.Choice(d, &o.Format, "format", "print in this `FORMAT`; json is each row on a line, with all its columns",
		formatText, formatMarkdown, formatJSON).Common()
	d.Bool(&o.Full, "full", "print long texts of a conversation whole")
}

func runShow(ctx context.Context, s *cli.Session, o *showSettings) error {
	in, err := o.Open(s)
	if err != nil {
		return err
	}
	uri := in.URI
	if err := o.check(s); err != nil {
		return err
	}
	switch {
	case s.Given("search"):
		return o.search(ctx, s, uri)
	case o.Trajectory != "":
		c, err := model.Converse(ctx, uri, o.Trajectory)
		if err != nil {
			return err
		}
		if o.Format == formatJSON {
			return s.PrintJSON(c.Is)
		}
		return s.Page(c, func(w io.Writer) error { return c.Write(w, o.Format == formatMarkdown, o.Full) }, styleOf)
	case o.Format == formatJSON:
		return o.raw(ctx, s, uri)
	case o.Group != "":
		g, err := model.Compare(ctx, uri, o.Group)
		if err != nil {
			return err
		}
		return s.Page(g, func(w io.Writer) error { return g.Write(w, o.Format == formatMarkdown) }, styleOf)
	}
	o.Summary = !chooses(s.Given)
	view, err := show.Show(ctx, uri, o.Options)
	if errors.Is(err, storage.ErrNotExist) && o.Summary {
		run, found := showRun(ctx, uri)
		if found == nil {
			return s.Page(run, run.writeText, styleOf)
		} else if !errors.Is(found, storage.ErrNotExist) {
			return found
		}
	}
	if err != nil {
		return err
	}
	if err := warnUnnamed(ctx, s, uri); err != nil {
		return err
	}
	o.keptNone(s, len(view.Rows))
	write := view.WriteText
	switch markdown := o.Format == formatMarkdown; {
	case o.Summary:
		write = func(w io.Writer) error { return view.WriteSummary(w, markdown) }
	case markdown:
		write = view.WriteMarkdown
	}
	return s.Page(view, write, styleOf)
}

// keptNone says that no row was kept, if one was searched for.
func (o *showSettings) keptNone(s *cli.Session, rows int) {
	if rows == 0 && o.Rows > 0 && (o.Where != "" || o.Failed) {
		s.Say("show: no row: --where or --failed keeps none")
	}
}

// chooses reports whether a setting that is given chooses rows.
func chooses(given func(name string) bool) bool {
	return slices.ContainsFunc([]string{"table", "first", "rows", "failed", "where", "columns", "sort", "worst"}, given)
}

func (o *showSettings) check(s *cli.Session) error {
	switch searches := s.Given("search"); {
	case searches && (chooses(s.Typed) || o.Trajectory+o.Group != "" || o.Full || o.Format != formatText):
		return cli.Usagef("it takes --search-regexp, --limit and --json", "--search is given with a flag that shows something else")
	case !searches && (s.Typed("limit") || o.SearchRegexp):
		return cli.Usagef("--rows limits rows", "--search-regexp and --limit are for --search")
	case o.Worst > 0 && (s.Given("sort") || s.Given("rows") || s.Given("desc")):
		return cli.Usagef("--worst 10 is --sort reward --rows 10", "--worst is given with --sort, --desc or --rows")
	case o.Desc && o.Sort == "":
		return cli.Usagef("name a column with --sort", "--desc has nothing to sort")
	case s.Given("first") && (o.Sort != "" || o.Worst > 0):
		return cli.Usagef("--rows says how many", "--first is a row of the dataset, and sorted rows are shown from the first")
	case o.Trajectory != "" && o.Group != "":
		return cli.Usagef("give one of them", "--trajectory and --group are both given")
	case o.Trajectory+o.Group != "" && chooses(s.Typed):
		return cli.Usagef("these show all of what they name", "--trajectory and --group take no flag that chooses rows")
	case o.Full && o.Trajectory == "":
		return cli.Usagef("name one with --trajectory", "--full is for a conversation")
	}
	if o.Worst > 0 {
		o.Sort, o.Rows = "reward", o.Worst
	}
	return nil
}

// raw prints rows or the members of a group as JSON, one after the other.
func (o *showSettings) raw(ctx context.Context, s *cli.Session, uri string) error {
	rows := 0
	print := func(row show.Row) error {
		rows++
		return s.PrintJSON(row.Is)
	}
	if o.Group != "" {
		return model.RawGroup(ctx, uri, o.Group, print)
	}
	if o.Columns == nil {
		o.Columns = []string{"all"}
	}
	err := show.Raw(ctx, uri, o.Options, print)
	if err == nil {
		o.keptNone(s, rows)
	}
	return err
}

// styleOf is how a line of a view looks on a terminal: headings stand out, and
// texts of models and programs, which are indented, have no style.
func styleOf(line string) terminal.Style {
	switch {
	case strings.HasPrefix(line, "trains     no"):
		return terminal.Bad
	case strings.HasPrefix(line, "trains     yes"):
		return terminal.Good
	case strings.HasPrefix(line, "["), strings.HasPrefix(line, "row "):
		return terminal.Bold
	}
	return terminal.Plain
}

// warnUnnamed warns of part files in the dataset's folder that do not belong to it.
func warnUnnamed(ctx context.Context, s *cli.Session, uri string) error {
	names, err := seal.UnnamedAt(ctx, uri)
	if err != nil || len(names) == 0 {
		return err
	}
	s.Say("show: warning: %s without a record (%q, ...): a killed or running writer, compact or another program left them; "+
		"readers of *.parquet read them as rows; `rollmill seal` removes those that a killed writer left, `rollmill prune` "+
		"those that compact replaced", plural.Of(len(names), "part"), names[0])
	return nil
}
