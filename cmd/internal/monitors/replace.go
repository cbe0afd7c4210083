package monitors

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace replaces a file as a whole. Everybody may read it: programs that read
// figures run as other users. They ignore the name that it has while it is written.
func Replace(path string, data []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(path), ".rollmill-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // fails after the rename
	_, err = draft.Write(data)
	if err = errors.Join(err, draft.Chmod(0o644), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), path)
}
