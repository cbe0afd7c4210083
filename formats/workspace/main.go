package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Main is the program in the container, and returns its exit code:
//
//	list ROOT...                   prints what is below the folders
//	pack LIST ROOT...              prints what changed since a file was listed
//	restore ARCHIVE SIZE PATHS     restores
func Main(args []string) int {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	if err := errors.Join(run(out, args), out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "rollmill:", err)
		return 1
	}
	return 0
}

func run(out io.Writer, args []string) error {
	if len(args) > 1 && args[0] == "list" {
		t, err := readMounts(args[1:])
		return errors.Join(err, t.list(out))
	}
	if len(args) < 3 || args[0] != "pack" && args[0] != "restore" {
		return fmt.Errorf("no such command: %q", args)
	}
	f, err := os.Open(args[1])
	if err != nil {
		return err
	}
	defer f.Close()
	if args[0] == "pack" {
		t, err := readMounts(args[2:])
		return errors.Join(err, t.pack(out, f))
	}
	var size, paths int64
	if _, err := fmt.Sscan(args[2]+" "+args[len(args)-1], &size, &paths); err != nil {
		return err
	}
	return Restore(f, "/", size, paths)
}
