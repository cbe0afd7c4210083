package layout

import (
	"errors"
	"fmt"
)

// errPage marks a page that contradicts its header, its chunk or the file. The
// checks in this file are made before anything is allocated
// for what a page claims.
var errPage = errors.New("damaged page")

// BadPage returns the error about damaged bytes; File.Fail adds file, column and row.
func BadPage(text string, args ...any) error {
	return fmt.Errorf("%w: %s", errPage, fmt.Sprintf(text, args...))
}
