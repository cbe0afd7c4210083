package cli

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage"
)

// extraHint returns what to do about arguments of which the command takes fewer.
func (cmd Command) extraHint(args []string, limit int, own []*option) string {
	in := optionNamed(own, "in")
	switch {
	case cmd.Name == "import" && args[0] == "nat-config":
		return "run `python -m rollmill.nat CONFIG.yml > rollmill.yaml`, of the Python package"
	case limit == 0 && strings.HasPrefix(args[len(args)-1], "-"):
		return "this command takes no arguments; remove it so that the flags after it are read"
	case cmd.Args == "URI" || cmd.Args == "ROOT":
		return cmd.eachHint(args)
	case limit > 0, in == nil:
		return "write " + cmd.synopsis()
	case in.Repeats:
		return "repeat the flag: --in " + strings.Join(few(append(in.texts, args...)), " --in ")
	case in.given:
		return "--in takes one dataset; run the command once for each"
	case len(args) == 1:
		return "datasets are flags: --in, --out; did you mean --in " + args[0] + "?"
	}
	return "datasets are flags: --in, --out"
}

// eachHint returns the hint of a command that takes one URI and got several.
func (cmd Command) eachHint(args []string) string {
	folder, _ := storage.Split(args[0])
	elsewhere := func(arg string) bool { dir, _ := storage.Split(arg); return dir != folder }
	if cmd.Folders && !slices.ContainsFunc(args, elsewhere) {
		return "it takes one " + cmd.Args + ", which may be a folder of several: rollmill " + cmd.Name + " " + folder
	}
	return "it takes one " + cmd.Args + ": for x in " + strings.Join(few(args), " ") + "; do rollmill " + cmd.Name +
		` "$x"; done`
}

// few returns the first of many words.
func few(words []string) []string {
	if len(words) > 3 {
		return append(words[:3:3], "...")
	}
	return words
}
