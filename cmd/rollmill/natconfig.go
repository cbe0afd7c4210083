package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/pipelines/natconfig"
	"github.com/rollmill/rollmill/stages/plugin"
)

var importNATConfigCommand = cli.Command{
	Name:  "import nat-config",
	Usage: "convert a finetuning config of NeMo Agent Toolkit to a config file of rollmill",
	Args:  "CONFIG.yml",
	About: `Reads the YAML file that nat finetune --config_file reads, and writes a config
file with the same settings, NAT's defaults included. A comment explains each
setting that changes meaning, and each that NAT itself ignores; the same notes go
to stderr. The workflow stays in NAT's file, for nat serve. ${VAR} is copied, keys
are not.

  rollmill import nat-config config.yml > rollmill.yaml
  rollmill check --config rollmill.yaml
  rollmill train --config rollmill.yaml`,
	ArgSettings: []string{"file"},
	Body:        cli.With(func() *natConfigSettings { return &natConfigSettings{} }, runImportNATConfig),
}

type natConfigSettings struct {
	File, Out string
	Overwrite bool
}

func (c *natConfigSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Input)
	d.String(&c.File, "file", "convert this `FILE`; - reads stdin")
	d.Heading(plugin.Output)
	d.String(&c.Out, "out", "write the config to this `FILE`").Shown("stdout")
	d.Bool(&c.Overwrite, "overwrite", "replace an existing file")
}

// maxConfig bounds the size of a configuration.
const maxConfig = 4 << 20

func runImportNATConfig(ctx context.Context, s *cli.Session, c *natConfigSettings) error {
	data, err := c.Read(ctx, s)
	if err != nil {
		return err
	}
	out, notes, err := natconfig.Convert(filepath.Base(cmp.Or(c.File, "-")), data)
	if err != nil {
		return err
	}
	for _, n := range notes {
		if n.Line == 0 {
			s.Say("%s: %s", filepath.Base(c.File), n)
		} else {
			s.Say("%s:%d: %s", filepath.Base(c.File), n.Line, n)
		}
	}
	result := map[string]any{"config": string(out), "notes": notes}
	if c.Out == "" {
		return s.PrintText(result, string(out))
	}
	if err := c.write(out); err != nil {
		return err
	}
	result["out"] = c.Out
	return s.Result(c.Out, result)
}

// Read returns the configuration.
func (c *natConfigSettings) Read(ctx context.Context, s *cli.Session) ([]byte, error) {
	switch c.File {
	case "":
		return nil, cli.Usagef("run `rollmill import nat-config CONFIG.yml`", "no file to convert")
	case "-":
	default:
		data, err := plugin.ReadFile(ctx, c.File)
		if err != nil {
			return nil, cli.Usagef("name the file that `nat finetune --config_file` reads", "%w", err)
		}
		return data, nil
	}
	data, err := io.ReadAll(io.LimitReader(s.In, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = cli.Usagef("", "%s: larger than %d MiB", c.File, maxConfig>>20)
	}
	return data, err
}

// write creates the file, and replaces one only with --overwrite.
func (c *natConfigSettings) write(data []byte) error {
	mode := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if c.Overwrite {
		mode = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	f, err := os.OpenFile(c.Out, mode, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return cli.Usagef("choose another name, or --overwrite", "--out %s: the file exists", c.Out)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
