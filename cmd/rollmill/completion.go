package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// completionCommand is a function, not a variable, because its body lists all
// commands, itself included.
func completionCommand() command {
	return command{
		name:        "completion",
		heading:     commandsHeading,
		usage:       "print a completion script for bash or zsh",
		args:        "bash|zsh",
		argSettings: []string{"shell"},
		about: `  source <(rollmill completion bash)     # in ~/.bashrc
  source <(rollmill completion zsh)      # in ~/.zshrc, after compinit`,
		body: with(func() *completionSettings { return &completionSettings{} }, runCompletion),
	}
}

type completionSettings struct{ Shell string }

func (c *completionSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Output)
	d.String(&c.Shell, "shell", "complete commands in this `SHELL`: bash or zsh")
}

func runCompletion(_ context.Context, s *session, c *completionSettings) error {
	shell := c.Shell
	script := bashCompletion()
	switch shell {
	case "bash":
	case "zsh":
		script = "autoload -U +X bashcompinit && bashcompinit\n" + script
	default:
		return usage("run `rollmill completion bash` or `rollmill completion zsh`", "no completion for the shell %q", shell)
	}
	return s.print(map[string]string{"shell": shell, "script": script}, func(w io.Writer) error {
		_, err := io.WriteString(w, script)
		return err
	})
}

// bashCompletion returns a script that completes commands, flags, and file names
// as their values. The script does not run rollmill.
func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`_rollmill() {
  local cur="${COMP_WORDS[COMP_CWORD]}" word command="" flags="" words=""
  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case "$word" in
`)
	fmt.Fprintf(&b, "      %s) command=\"$word\"; break ;;\n", strings.Join(commandNames(), "|"))
	b.WriteString("    esac\n  done\n  case \"$command\" in\n")
	fmt.Fprintf(&b, "    \"\") flags=\"%s --version\" ;;\n", flagNames(globalOptions()))
	for _, cmd := range commands() {
		options := cmd.options()
		for _, p := range cmd.parts {
			options = append(options, p.options()...)
		}
		fmt.Fprintf(&b, "    %s) flags=\"%s\" words=\"%s\" ;;\n", cmd.name, flagNames(append(options, globalOptions()...)), cmd.choices())
	}
	fmt.Fprintf(&b, `  esac
  COMPREPLY=()
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -z "$command" && "${COMP_WORDS[$((COMP_CWORD-1))]}" != --config ]]; then
    COMPREPLY=($(compgen -W "%s" -- "$cur"))
  elif [[ -n "$words" && "${COMP_WORDS[$((COMP_CWORD-1))]}" == "$command" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -F _rollmill rollmill
`, strings.Join(commandNames(), " "))
	return b.String()
}

// choices returns the known arguments that may follow a command's name.
func (cmd command) choices() string {
	switch {
	case cmd.parts != nil:
		return strings.Join(cmd.partNames(), " ")
	case strings.Contains(cmd.args, "|"):
		return strings.ReplaceAll(cmd.args, "|", " ")
	}
	return ""
}

func flagNames(options []*option) string {
	var names []string
	for _, o := range options {
		names = append(names, "--"+o.Name)
	}
	return strings.Join(names, " ")
}
