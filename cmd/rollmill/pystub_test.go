package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/stages/plugin"
)

// pythonStub returns the types of the Python module's function run: an overload for each
// command, with its flags and those of its subcommands.
func pythonStub(a *cli.App) string {
	b := strings.Builder{}
	b.WriteString(stubHead)
	for _, cmd := range a.Commands {
		var settings []*plugin.Setting
		for _, c := range append([]cli.Command{cmd}, cmd.Parts...) {
			if c.Settings != nil {
				settings = append(settings, plugin.Declared(c.Settings())...)
			}
		}
		fmt.Fprintf(&b, "\n@overload\ndef run(\n    command: Literal[%q],\n%s", cmd.Name, stubPlace)
		seen := []string{"command", "env"} // flags of these names are given as words
		add := func(name, typ string) {
			if !slices.Contains(seen, name) {
				fmt.Fprintf(&b, "    %s: %s | None = ...,\n", name, typ)
			}
			seen = append(seen, name)
		}
		for _, s := range append(settings, a.Schema()[""]...) {
			add(pythonName(s.Name), cmp.Or(stubObjects[s.Name], pythonType(s)))
		}
		for _, name := range stubFunctions[cmd.Name] {
			add(name, cmp.Or(stubObjects[name], stubObjects[strings.TrimSuffix(name, "s")]))
		}
		fmt.Fprintf(&b, ") -> Result:\n    \"\"\"%s\"\"\"\n", cmd.Usage)
	}
	return b.String() + "\n@overload\ndef run(\n    command: str,\n" + stubPlace + "    **flags: Any,\n) -> Result: ...\n"
}

// A text may be given as a number. The last overload is for a command that is a variable.
const (
	stubHead = `# Generated from the settings of the commands: ` + "`make docs`" + ` rewrites it.
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

from ._command import Result

_Text = str | os.PathLike[str] | float
_Texts = _Text | Sequence[_Text] | Mapping[str, _Text]
_Pairs = Mapping[str, Any] | str | Sequence[str | Mapping[str, Any]]
_Agent = str | Callable[..., Any]
_Rewards = _Agent | Sequence[_Agent] | Mapping[str, _Agent]
_Examples = _Text | Sequence[Mapping[str, Any]]
`
	stubPlace = `    *args: str | os.PathLike[str],
    cwd: str | os.PathLike[str] | None = ...,
    env: Mapping[str, str] | None = ...,
`
)

var (
	ofRun         = []string{"rewards", "agent", "examples"} // in place of keys of the config file
	stubFunctions = map[string][]string{"score": {"rewards"}, "check": ofRun, "eval": ofRun, "train": ofRun, "try": ofRun}
	stubObjects   = map[string]string{"agent": "_Agent", "reward": "_Rewards", "examples": "_Examples"}
	stubTypes     = map[plugin.Type]string{plugin.Switch: "bool", plugin.Integer: "int", plugin.Number: "float",
		plugin.Duration: "str", plugin.Object: "_Pairs", plugin.Text: "_Text"}
)

// pythonName returns a flag's name as an argument of Python, which has keywords.
func pythonName(name string) string {
	if slices.Contains([]string{"as", "from", "in", "is", "with"}, name) {
		name += "_"
	}
	return strings.ReplaceAll(name, "-", "_")
}

func pythonType(s *plugin.Setting) string {
	typ := stubTypes[s.Type]
	if s.Type == plugin.Text && s.Choices != nil {
		typ = `Literal["` + strings.Join(s.Choices, `", "`) + `"]`
	}
	switch {
	case !s.Repeats || s.Type == plugin.Object:
		return typ
	case typ == "_Text":
		return "_Texts"
	}
	return typ + " | Sequence[" + typ + "]"
}
