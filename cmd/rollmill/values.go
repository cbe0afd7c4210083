package main

import (
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
)

// The functions of this file read flags whose absence means something.

func float(c *cli.Context, name string) *float64 {
	if !c.IsSet(name) {
		return nil
	}
	f := c.Float64(name)
	return &f
}

func integer(c *cli.Context, name string) *int {
	if !c.IsSet(name) {
		return nil
	}
	i := c.Int(name)
	return &i
}

func integer64(c *cli.Context, name string) *int64 {
	if !c.IsSet(name) {
		return nil
	}
	i := c.Int64(name)
	return &i
}

// or turns "0 of them" as people say it into the options' way, where 0 is the
// default and a negative number is none.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// objects are the repeated KEY=VALUE flags whose values have types: numbers,
// truth values, lists, objects. The others' are text.
var objects = []string{"sampling", "extra", "init-args", "engine-args", "peft-args", "trainer-args", "internal-config", "server-args", "dev-config", "hyperparameters", "dataset-parameters"}

// object reads one of them: values are what YAML takes them for. Nil when
// there is none.
func object(c *cli.Context, name string) (map[string]any, error) {
	var out map[string]any
	for _, text := range c.StringSlice(name) {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, usage("write --"+name+" KEY=VALUE", "--%s %q", name, text)
		}
		var v any
		if err := yaml.Load([]byte(value), &v); err != nil || v == nil && value != "null" {
			v = value
		}
		if out == nil {
			out = map[string]any{}
		}
		out[key] = v
	}
	return out, nil
}

// patterns reads a repeated COLUMN=PATTERN flag.
func patterns(c *cli.Context, name string) (map[string][]string, error) {
	var out map[string][]string
	for _, text := range c.StringSlice(name) {
		column, pattern, ok := strings.Cut(text, "=")
		if !ok || column == "" {
			return nil, usage("write --"+name+" COLUMN=PATTERN", "--%s %q", name, text)
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[column] = append(out[column], pattern)
	}
	return out, nil
}

// fieldNames reads the flags that say which columns of a task file are what.
func fieldNames(c *cli.Context) formats.FieldNames {
	return formats.FieldNames{ID: c.String("id-key"), Question: c.String("question-key"),
		Answer: c.String("answer-key"), GeneratedAnswer: c.String("generated-answer-key")}
}

// finish tells what a stage did and prints its dataset.
func (s *session) finish(r stages.Report, object any, err error) error {
	if err != nil {
		return err
	}
	s.say("%s", summary(r))
	return s.result(r.URI, object)
}
