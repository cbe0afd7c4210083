package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Completion returns the command that prints a completion script.
func Completion() Command {
	return Command{
		Name:        "completion",
		Usage:       "print a completion script for bash or zsh",
		Args:        "bash|zsh",
		ArgSettings: []string{"shell"},
		About: `  source <(rollmill completion bash)     # in ~/.bashrc
  source <(rollmill completion zsh)      # in ~/.zshrc, after compinit`,
		Body: With(func() *completionSettings { return &completionSettings{} }, runCompletion),
	}
}

type completionSettings struct{ Shell string }

func (c *completionSettings) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Output)
	d.String(&c.Shell, "shell", "complete commands in this `SHELL`: bash or zsh")
}

func runCompletion(_ context.Context, s *Session, c *completionSettings) error {
	script := s.app.bashCompletion()
	switch c.Shell {
	case "bash":
	case "zsh":
		script = "autoload -U +X bashcompinit && bashcompinit\n" + script
	default:
		return Usagef("run `rollmill completion bash` or `rollmill completion zsh`", "no completion for the shell %q",
			c.Shell)
	}
	return s.PrintText(map[string]string{"shell": c.Shell, "script": script}, script)
}

// bashCompletion returns a script that completes commands, flags, the values of flags that have
// a closed list, the kinds of a spec such as that of --reward, and file names.
//
// The script does not run rollmill. That of urfave/cli does, with the unfinished command line
// through eval, at each press of the key; it needs the package bash-completion, knows no values,
// and completes nothing after a flag that the parser refuses.
func (a *App) bashCompletion() string {
	global := flagNames(globalOptions())
	flags := []string{`"") flags="` + global + ` --version" ;;`}
	var values []string
	for _, cmd := range a.Commands {
		own := ""
		for _, c := range append([]Command{cmd}, cmd.Parts...) {
			settings, options := c.fresh()
			own += flagNames(options) + " "
			values = append(values, valueCases(cmd.Name, options, sortsOf(settings))...)
		}
		flags = append(flags, fmt.Sprintf(`%s) flags="%s" words="%s" ;;`, cmd.Name, strings.TrimSpace(own)+" "+global,
			cmd.choices()))
	}
	values = append(values, valueCases("*", globalOptions(), nil)...)
	slices.Sort(values) // those of "*" first; no flag of a command has the name of a global one
	names := a.commandNames()
	return strings.NewReplacer(
		"<names>", strings.Join(names, " "), "<pattern>", strings.Join(names, "|"),
		"<flags>", strings.Join(flags, "\n    "), "<values>", strings.Join(slices.Compact(values), "\n    "),
	).Replace(bashTemplate)
}

// bashTemplate finds the word before the value that is completed. Bash splits --flag=value into
// three words, but zsh does not. The kind of a spec may follow its NAME=.
const bashTemplate = `_rollmill() {
  local cur="${COMP_WORDS[COMP_CWORD]}" at=$COMP_CWORD word before command="" prefix="" flags="" words="" values=""
  for word in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case "$word" in
      <pattern>) command="$word"; break ;;
    esac
  done
  if [[ "$cur" == "=" ]]; then
    cur="" at=$((at+1))
  elif [[ "$cur" == *=* ]]; then
    prefix="${cur%%=*}=" cur="${cur#*=}"
  fi
  before="${COMP_WORDS[$((at-1))]}"
  if [[ "$prefix" == -* ]]; then
    before="${prefix%=}"
  elif [[ "$before" == "=" ]]; then
    before="${COMP_WORDS[$((at-2))]}"
    [[ "$before" == -* || $at -lt 4 ]] || before="${COMP_WORDS[$((at-3))]}"
  fi
  case "$command" in
    <flags>
  esac
  case "$command $before" in
    <values>
  esac
  COMPREPLY=()
  if [[ -n "$values" && "$cur" != -* ]]; then
    COMPREPLY=($(compgen -P "$prefix" -W "$values" -- "$cur"))
    [[ "$values" != *: ]] || compopt -o nospace 2>/dev/null
  elif [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -z "$command" && "$before" != --config ]]; then
    COMPREPLY=($(compgen -W "<names>" -- "$cur"))
  elif [[ -n "$words" && "$before" == "$command" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -F _rollmill rollmill
`

// valueCases returns a case for each option with known values: its choices, or the
// kinds of the specs that it takes.
func valueCases(command string, options []*option, sorts []*pluginSort) (cases []string) {
	for _, o := range options {
		var words []string
		for _, s := range o.all {
			words = append(words, s.Choices...)
		}
		for _, kind := range sorts {
			for _, p := range kind.plugins {
				if kind.name == o.Name && p.Spec != "" {
					words = append(words, p.Name+":")
				}
			}
		}
		if len(words) > 0 {
			cases = append(cases, fmt.Sprintf(`%s" --%s") values="%s" ;;`, command, o.Name, strings.Join(words, " ")))
		}
	}
	return cases
}

// choices returns the known arguments that may follow a command's name.
func (cmd Command) choices() string {
	switch {
	case cmd.Parts != nil:
		return strings.Join(cmd.partNames(), " ")
	case strings.Contains(cmd.Args, "|"):
		return strings.ReplaceAll(cmd.Args, "|", " ")
	}
	return ""
}

func flagNames(options []*option) string {
	return strings.Join(each(options, func(o *option) string { return "--" + o.Name }), " ")
}
