package stages

import (
	"os"
	"path/filepath"
	"strings"
)

// WordFile returns the regular file in dir that a word of a program's arguments
// names: the word itself, or FILE of FILE:NAME, as in python -m rollmill
// reward.py:brevity. It returns the word if there is none. Identities hold the
// content of these files.
func WordFile(dir, word string) string {
	if colon := strings.LastIndexByte(word, ':'); colon > 0 && !regular(dir, word) && regular(dir, word[:colon]) {
		return word[:colon]
	}
	return word
}

func regular(dir, name string) bool {
	if dir != "" && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
