package cli

import (
	"regexp"
	"slices"
	"strings"
)

// NamedFlag is a flag that a text names.
type NamedFlag struct {
	Name, Value string // Value is that of "--epoch 3" and of "--ledger URI"
	Command     string // directly before it, other flags aside; "" for none
	begin, end  int
}

var (
	namedFlag = regexp.MustCompile(`--([a-z][a-z0-9-]*)(?:[ =]([A-Z][A-Z_/]*\b|-?[0-9][0-9.]*\b|https?://[^\s;,]+))?`)
	valueWord = regexp.MustCompile(`^(--.*|[A-Z_/=]+|-?[0-9.]+|%.*|[^.,;:]*/.*|'.*|.*')$`)
)

// NamedFlags returns the flags that a text names.
func (a *App) NamedFlags(text string) (out []NamedFlag) {
	for _, m := range namedFlag.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > 0 && !strings.ContainsRune(" `'\"(/\n", rune(text[m[0]-1])) {
			continue // within a word
		}
		f := NamedFlag{Name: text[m[2]:m[3]], begin: m[0], end: m[1]}
		if m[4] >= 0 {
			f.Value = text[m[4]:m[5]]
		}
		words := strings.Fields(text[:m[0]])
		for len(words) > 0 && valueWord.MatchString(words[len(words)-1]) {
			words = words[:len(words)-1]
		}
		f.Command = a.commandAtEnd(words)
		out = append(out, f)
	}
	return out
}

// commandAtEnd returns the name of the command that ends a list of words.
func (a *App) commandAtEnd(words []string) string {
	end := strings.TrimSuffix(strings.TrimLeft(strings.Join(words[max(0, len(words)-2):], " "), "`'\"("), "'s")
	last := strings.TrimLeft(end[strings.LastIndex(end, " ")+1:], "`'\"(")
	for _, cmd := range a.runnable() {
		if verb := cmd.Name == "check" || cmd.Name == "try"; end == "rollmill "+cmd.Name || !verb && (cmd.Name == end || cmd.Name == last) {
			return cmd.Name
		}
	}
	return ""
}

// InWordsOf returns a text of advice as a command gives it. A command that reads a run's
// config file has few flags of its own: other flags are named as keys of that file. of is
// the message that the advice belongs to, whose beginning may name the section.
func (a *App) InWordsOf(command, of, text string) string {
	at := slices.IndexFunc(a.runnable(), func(cmd Command) bool { return cmd.Name == command })
	if at < 0 || !a.runnable()[at].readsConfig() {
		return text
	}
	all, own := a.schema(), append(slices.DeleteFunc(a.runnable()[at].options(), func(o *option) bool { return strings.HasPrefix(o.Help, "with --") }),
		globalOptions()...)
	var b strings.Builder
	done, keys := 0, false
	for _, f := range a.NamedFlags(text) {
		section := a.sectionWith(f.Name, of, all)
		if f.Command != "" || section == "" || optionNamed(own, f.Name) != nil {
			continue
		}
		key, before := section+"."+f.Name, text[done:f.begin]
		switch o := optionNamed(all[section], f.Name); {
		case f.Value != "":
			before, key = strings.TrimSuffix(before, "set "), "--set "+key+"="+f.Value
		case o.IsBoolFlag() && !strings.Contains(before, "leave "):
			key = "--set " + key + "=true"
		default:
			keys = true
		}
		b.WriteString(before + key)
		done = f.end
	}
	b.WriteString(text[done:])
	if keys && !strings.Contains(b.String(), "--set ") {
		b.WriteString(" (SECTION.KEY: in the config file, or with --set SECTION.KEY=VALUE)")
	}
	return b.String()
}

// readsConfig reports whether a command runs the stages of a config file.
func (cmd Command) readsConfig() bool { return strings.Contains(cmd.Required, "--config") }

// sectionWith returns the section that has a setting: the one that the beginning of a
// message names, else the first.
func (a *App) sectionWith(name, of string, all map[string][]*option) string {
	for _, section := range append(strings.Split(of, ": "), a.sections(all)...) {
		if optionNamed(all[section], name) != nil && section != "" {
			return section
		}
	}
	return ""
}
