package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionCommand is made by a function: its body lists all commands, itself
// among them.
func completionCommand() command {
	return command{
		name:    "completion",
		heading: aroundIt,
		usage:   "print a completion script for bash or zsh",
		words:   "bash|zsh",
		about: `  source <(rollmill completion bash)     # in ~/.bashrc
  source <(rollmill completion zsh)      # in ~/.zshrc, after compinit`,
		flags: func() []cli.Flag { return nil },
		run:   runCompletion,
	}
}

func runCompletion(_ context.Context, s *session) error {
	shell := ""
	if len(s.words) > 0 {
		shell = s.words[0]
	}
	script := bashCompletion()
	switch shell {
	case "bash":
	case "zsh":
		script = "autoload -U +X bashcompinit && bashcompinit\n" + script
	default:
		return usage("say `rollmill completion bash` or `rollmill completion zsh`", "no completion for the shell %q", shell)
	}
	return s.print(map[string]string{"shell": shell, "script": script}, func(w io.Writer) error {
		_, err := io.WriteString(w, script)
		return err
	})
}

// bashCompletion completes commands, flags, and file names as their values.
// It asks nothing of rollmill itself.
func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`_rollmill() {
  local cur="${COMP_WORDS[COMP_CWORD]}" word command="" flags=""
  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case "$word" in
`)
	fmt.Fprintf(&b, "      %s) command=\"$word\"; break ;;\n", strings.Join(commandNames(), "|"))
	b.WriteString("    esac\n  done\n  case \"$command\" in\n")
	fmt.Fprintf(&b, "    \"\") flags=\"%s --help --version\" ;;\n", flagNames(globalFlags()))
	for _, cmd := range commands() {
		fmt.Fprintf(&b, "    %s) flags=\"%s --help\" ;;\n", cmd.name, flagNames(append(cmd.flags(), globalFlags()...)))
	}
	fmt.Fprintf(&b, `  esac
  COMPREPLY=()
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -z "$command" && "${COMP_WORDS[$((COMP_CWORD-1))]}" != --config ]]; then
    COMPREPLY=($(compgen -W "%s" -- "$cur"))
  elif [[ "$command" == completion ]]; then
    COMPREPLY=($(compgen -W "bash zsh" -- "$cur"))
  fi
}
complete -o default -F _rollmill rollmill
`, strings.Join(commandNames(), " "))
	return b.String()
}

func flagNames(flags []cli.Flag) string {
	var names []string
	for _, f := range flags {
		names = append(names, "--"+f.Names()[0])
	}
	return strings.Join(names, " ")
}
