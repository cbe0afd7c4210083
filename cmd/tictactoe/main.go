package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `usage: tictactoe play | reward | won | examples --count N --seed S [--offset K]
`

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "tictactoe:", err)
		code := 1
		if _, bad := errors.AsType[usageError](err); bad {
			code = 2
		}
		os.Exit(code)
	}
}

type usageError string

func (e usageError) Error() string { return string(e) }

func run(args []string, in io.Reader, out io.Writer, getenv func(string) string) error {
	if len(args) == 0 {
		return usageError("which command?\n" + usage)
	}
	switch command := args[0]; command {
	case "play":
		return withoutFlags(args, func() error { return play(in, out, getenv) })
	case "reward":
		return withoutFlags(args, func() error { return answer(in, out, NewJudge().Reward) })
	case "won":
		return withoutFlags(args, func() error { return answer(in, out, Won) })
	case "examples":
		return examples(args[1:], out)
	case "help", "-h", "--help":
		_, err := io.WriteString(out, usage)
		return err
	default:
		return usageError(fmt.Sprintf("unknown command %q\n%s", command, usage))
	}
}

func withoutFlags(args []string, do func() error) error {
	if len(args) > 1 {
		return usageError(fmt.Sprintf("%s: unexpected argument %q", args[0], args[1]))
	}
	return do()
}

func examples(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("examples", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	count := flags.Int("count", 64, "how many")
	seed := flags.Int64("seed", 1, "seed of the set")
	offset := flags.Int("offset", 0, "index of the first example")
	if err := flags.Parse(args); err != nil {
		return usageError("examples: " + err.Error())
	}
	if flags.NArg() > 0 || *count < 0 || *offset < 0 {
		return usageError(fmt.Sprintf("examples: bad arguments %q", args))
	}
	return writeExamples(out, *seed, *offset, *count)
}
