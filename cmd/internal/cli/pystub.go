package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// stubHead begins the stub. Text flags take numbers too: they are written as text.
const stubHead = `# Generated from the settings of the commands: ` + "`make docs`" + ` rewrites it.
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

from ._command import Result

_Text = str | os.PathLike[str] | float
_Texts = _Text | Sequence[_Text] | Mapping[str, _Text]
_Pairs = Mapping[str, Any] | str | Sequence[str | Mapping[str, Any]]
_Agent = str | Callable[..., Any]
_Rewards = _Agent | Sequence[_Agent] | Mapping[str, _Agent]
`

// PythonStub returns the types of the Python module's function run: an overload for each
// command, with its flags and those of its subcommands.
func (a *App) PythonStub() string {
	b := strings.Builder{}
	b.WriteString(stubHead)
	for _, cmd := range a.Commands {
		options := cmd.options()
		for _, part := range cmd.Parts {
			options = append(options, part.options()...)
		}
		fmt.Fprintf(&b, "\n@overload\ndef run(\n    command: Literal[%q],\n    *args: str | os.PathLike[str],\n"+
			"    cwd: str | os.PathLike[str] | None = ...,\n    env: Mapping[str, str] | None = ...,\n", cmd.Name)
		seen := map[string]bool{"command": true, "cwd": true, "env": true}
		add := func(name, typ string) {
			if !seen[name] {
				fmt.Fprintf(&b, "    %s: %s | None = ...,\n", name, typ)
			}
			seen[name] = true
		}
		for _, o := range options {
			add(keyword(o.Name), cmp.Or(objects[o.Name], pythonType(o.Setting)))
		}
		if seen["reward"] || slices.Contains(ofRuns, cmd.Name) {
			add("rewards", objects["reward"])
		}
		if slices.Contains(ofRuns, cmd.Name) {
			add("agent", objects["agent"])
		}
		for _, o := range globalOptions() {
			add(keyword(o.Name), pythonType(o.Setting))
		}
		fmt.Fprintf(&b, ") -> Result:\n    \"\"\"%s\"\"\"\n", cmd.Usage)
	}
	return b.String() + stubTail
}

// stubTail is for a command whose name is a variable: a loop over stages.
const stubTail = `
@overload
def run(
    command: str,
    *args: str | os.PathLike[str],
    cwd: str | os.PathLike[str] | None = ...,
    env: Mapping[str, str] | None = ...,
    **flags: Any,
) -> Result: ...
`

// objects are the types of flags that take functions. ofRuns are the commands that take
// them in place of keys of the config file.
var (
	objects = map[string]string{"agent": "_Agent", "reward": "_Rewards"}
	ofRuns  = []string{"check", "eval", "train", "try"}
)

// keyword returns a flag's name as an argument of Python.
func keyword(name string) string {
	if slices.Contains([]string{"as", "from", "in", "is", "with"}, name) {
		name += "_"
	}
	return strings.ReplaceAll(name, "-", "_")
}

func pythonType(s *plugin.Setting) string {
	typ := map[plugin.Type]string{plugin.Switch: "bool", plugin.Integer: "int", plugin.Number: "float", plugin.Duration: "str",
		plugin.Object: "_Pairs", plugin.Text: "_Text"}[s.Type]
	if s.Type == plugin.Text && s.Choices != nil {
		typ = fmt.Sprintf("Literal[%s]", strings.ReplaceAll(strings.Trim(fmt.Sprintf("%q", s.Choices), "[]"), `" "`, `", "`))
	}
	switch {
	case !s.Repeats || typ == "_Pairs":
		return typ
	case typ == "_Text":
		return "_Texts"
	}
	return fmt.Sprintf("%s | Sequence[%[1]s]", typ)
}
