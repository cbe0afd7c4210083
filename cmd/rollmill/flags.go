package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
)

// The categories of flags in help.
const (
	aboutInput   = "Input"
	aboutOutput  = "Output"
	aboutRows    = "What decides the rows"
	aboutRunning = "How it runs"
	aboutGates   = "Gates"
	aboutGlobals = "Everywhere"
)

// globalFlags may stand before the command or after it.
func globalFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "read settings from this YAML `FILE`, a section per command"},
		&cli.StringSliceFlag{Name: "set", Usage: "set `SECTION.KEY=VALUE` as the config file would"},
		&cli.StringSliceFlag{Name: "base", Usage: "read a dataset that the input was made from at this `URI`, as when it lies in another bucket or at another endpoint"},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON object on stdout instead of a URI"},
		&cli.BoolFlag{Name: "quiet", Usage: "no progress and no summary on stderr"},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "tell what happens from this `LEVEL` on: debug, info, warn, error"},
		&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORMAT` of stderr: text or json"},
	}
	return inCategory(aboutGlobals, flags...)
}

// inCategory sets the category of flags that have none.
func inCategory(name string, flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Category = name
		case *cli.StringSliceFlag:
			f.Category = name
		case *cli.BoolFlag:
			f.Category = name
		case *cli.IntFlag:
			f.Category = name
		case *cli.Int64Flag:
			f.Category = name
		case *cli.Float64Flag:
			f.Category = name
		case *cli.DurationFlag:
			f.Category = name
		default:
			panic(fmt.Sprintf("rollmill: a flag of type %T", f))
		}
	}
	return flags
}

// inheritGlobals copies the global flags given before the command.
func inheritGlobals(c *cli.Context) error {
	lineage := c.Lineage()
	root := lineage[1]
	for _, f := range globalFlags() {
		name := f.Names()[0]
		if !root.IsSet(name) {
			continue
		}
		if name == "set" {
			after := c.StringSlice(name)
			all := append(append([]string{}, root.StringSlice(name)...), after...)
			if err := setAll(c, name, all); err != nil {
				return err
			}
		} else if !c.IsSet(name) {
			if err := c.Set(name, fmt.Sprint(root.Value(name))); err != nil {
				return err
			}
		}
	}
	return nil
}

// setAll replaces the values of a repeated flag.
func setAll(c *cli.Context, name string, values []string) error {
	return c.Set(name, cli.NewStringSlice(values...).Serialize())
}

// setGlobals makes the streams behave as asked.
func (s *streams) setGlobals(c *cli.Context) error {
	s.json, s.quiet = c.Bool("json"), c.Bool("quiet")
	switch format := c.String("log-format"); format {
	case "json":
		s.logJSON = true
	case "text":
		s.logJSON = false
	default:
		return usage("", "--log-format %q is neither text nor json", format)
	}
	if err := s.level.UnmarshalText([]byte(c.String("log-level"))); err != nil {
		return usage("", "--log-level %q is none of debug, info, warn, error", c.String("log-level"))
	}
	if s.quiet && s.level < slog.LevelWarn {
		s.level = slog.LevelWarn
	}
	return nil
}

// inFlag names the dataset to read; gates that refused it can be overruled.
func inFlags(what string) []cli.Flag {
	return inCategory(aboutInput,
		&cli.StringFlag{Name: "in", Usage: "read " + what + " at this `URI`; - takes it from stdin"},
		&cli.StringSliceFlag{Name: "accept-gate", Usage: "read the input although the gate `NAME` refused it"},
	)
}

// outFlags say where to write, and which slice of the work.
func outFlags(sibling string) []cli.Flag {
	return inCategory(aboutOutput,
		&cli.StringFlag{Name: "out", Usage: "write the dataset at this `URI`; default: " + sibling},
		&cli.StringFlag{Name: "shard", Usage: "do slice `I/N` of the work; auto/N takes I from Slurm, Kubernetes, AWS Batch, GNU parallel or Airflow"},
		&cli.BoolFlag{Name: "overwrite", Usage: "replace a dataset of another identity"},
	)
}

// spillFlags say where and in how much memory to sort.
func spillFlags(what string) []cli.Flag {
	return inCategory(aboutRunning,
		&cli.StringFlag{Name: "spill-dir", Usage: "sort " + what + " in files in `DIR`; default: the system's folder for temporary files"},
		&cli.Int64Flag{Name: "spill-memory", Usage: "sort in so many `MIB` of memory before files are used", DefaultText: strconv.Itoa(stages.DefaultSpillMemory >> 20)},
	)
}

// spill reads --spill-dir and --spill-memory.
func (s *session) spill() stages.Spill {
	return stages.Spill{Dir: s.flags.String("spill-dir"), Memory: s.flags.Int64("spill-memory") << 20}
}

// input reads --in and --accept-gate.
func (s *session) input() (stages.Input, error) {
	uri, err := s.uri("in", s.flags.String("in"))
	if err != nil {
		return stages.Input{}, err
	}
	if uri == "" {
		return stages.Input{}, usage("name the dataset to read: --in URI, or --in - to take it from stdin", "no input")
	}
	return stages.Input{URI: uri, AcceptGates: s.flags.StringSlice("accept-gate")}, nil
}

// validationFlag makes the section "validation" count before the command's own.
func validationFlag() cli.Flag {
	return &cli.BoolFlag{Name: "validation", Usage: "held-out examples: the config file's section validation comes before the command's own"}
}

// output reads --out, --shard and --overwrite. Without --out it is a sibling
// of the input, named after the command.
func (s *session) output(in string) (stages.Output, error) {
	dir, name := storage.Split(in)
	if name == s.command && s.flags.String("out") == "" {
		return stages.Output{}, usage("name it with --out", "the input %q is named like the output would be", storage.Redact(in))
	}
	return s.outputAt(storage.Join(dir, s.command))
}

// outputAt is output with a default of its own.
func (s *session) outputAt(otherwise string) (stages.Output, error) {
	out := stages.Output{URI: s.flags.String("out"), Overwrite: s.flags.Bool("overwrite")}
	if out.URI == "" {
		out.URI = otherwise
	}
	shard, err := stages.ParseShard(s.flags.String("shard"), s.lookup)
	out.Shard = shard
	return out, err
}

// runFlags name the run and its folder.
func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "run", Usage: "`NAME` of the run, part of every trajectory's id; default: the last part of --root, else run"},
		&cli.StringFlag{Name: "root", Usage: "`URI` of the run's folder, which holds epoch-0, epoch-1, ...; default: runs/<run>"},
	}
}

// runAndRoot are the run's name and folder, each by default from the other.
func runAndRoot(c *cli.Context) (run, root string) {
	run, root = c.String("run"), c.String("root")
	if run == "" && root != "" {
		_, run = storage.Split(root)
	}
	if run == "" {
		run = "run"
	}
	if root == "" {
		root = storage.Join("runs", run)
	}
	return run, root
}

// apiKey reads a secret from --api-key-file, else from the environment, and
// keeps it out of everything this process writes.
func (s *session) apiKey(file string, variables ...string) (string, error) {
	key, source := "", "api-key-file"
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", usage("the file holds the key and nothing else", "--api-key-file: %w", err)
		}
		if key = strings.TrimSpace(string(data)); key == "" {
			return "", usage("the file holds the key and nothing else", "--api-key-file %q is empty", file)
		}
	}
	for _, v := range variables {
		if key == "" {
			key, _ = s.lookup(v)
			source = v
		}
	}
	s.secrets.Add(source, key)
	return key, nil
}

// badValue is what package flag says of a value that it cannot read.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-(.+?): `)

// flagError turns what the flag parser says into a usage error with a hint.
func flagError(err error, flags []cli.Flag) error {
	var staged *stages.Error
	if errors.As(err, &staged) {
		return err
	}
	if m := badValue.FindStringSubmatch(err.Error()); m != nil {
		if f := flagNamed(flags, m[2]); f != nil {
			advice := "see --help"
			if _, ok := f.(*cli.DurationFlag); ok {
				advice = "write the unit: 90s, 5m, 2h"
			}
			return usage(advice, "--%s: %s is not %s", m[2], m[1], kindOf(f))
		}
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag needs an argument: -"); ok {
		return usage("see --help", "--%s needs a value", strings.TrimPrefix(name, "-"))
	}
	name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return usage("", "%w", err)
	}
	name = strings.TrimPrefix(name, "-")
	names := []string{"help"}
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	advice := nearest(name, names, "")
	if advice != "" {
		advice = strings.Replace(advice, `"`, `"--`, 1)
	} else {
		advice = "see --help"
	}
	return usage(advice, "there is no flag --%s", name)
}

// nearest is a hint that names what was probably meant, or else.
func nearest(word string, known []string, otherwise string) string {
	best, score := "", 0.78
	for _, k := range known {
		if s := smetrics.JaroWinkler(strings.ToLower(word), k, 0.7, 4); s > score {
			best, score = k, s
		}
	}
	if best == "" {
		return otherwise
	}
	return fmt.Sprintf("did you mean %q?", best)
}
